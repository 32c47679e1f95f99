// Goal: Sluice may use mimalloc but must not become the program's allocator.
// Method: take a block of each and look where the dynamic linker finds malloc.
#include "memory/mimalloc/api.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <thread>

TEST_CASE("mimalloc serves aligned blocks across threads when it is there") {
    const auto* api = sluice::memory::mimalloc_api();
    if (api == nullptr) {
        MESSAGE("this build has no mimalloc");
        return;
    }
    CHECK(api->version() >= 200);
    void* block = api->malloc_aligned(256, 64);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::thread([&] {
        api->thread_init();
        api->free(block);
    }).join();
}

TEST_CASE("the global allocator stays the program's own") {
    (void)sluice::memory::mimalloc_api();
    for (const char* name : {"malloc", "free", "_Znwm", "_ZdlPv"}) {
        Dl_info info{};
        void* symbol = dlsym(RTLD_DEFAULT, name);
        REQUIRE(symbol != nullptr);
        REQUIRE(dladdr(symbol, &info) != 0);
        CAPTURE(std::string(name));
        CHECK(std::string_view(info.dli_fname).find("libmimalloc") == std::string_view::npos);
    }
}
