// What a user's program looks like to the linker: it includes, calls into the compiled library, and checks two promises
// that only a foreign program can check. Built three ways by ./run.
#include <sluice/sluice.hpp>

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace {

// Sluice may use mimalloc but must not make it the allocator of the program.
bool malloc_is_still_libc() {
    for (const char* name : {"malloc", "free", "_Znwm", "_ZdlPv"}) {
        Dl_info info{};
        void* symbol = dlsym(RTLD_DEFAULT, name);
        if (symbol == nullptr) {
            continue;  // a program this small may not even have loaded the C++ runtime
        }
        if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
            std::fprintf(stderr, "cannot tell whose %s this is\n", name);
            return false;
        }
        if (std::strstr(info.dli_fname, "libc.") == nullptr &&
            std::strstr(info.dli_fname, "libstdc++.") == nullptr) {
            std::fprintf(stderr, "%s comes from %s\n", name, info.dli_fname);
            return false;
        }
    }
    return true;
}

// The engine and its templates, from outside: a value comes back, and a refusal does.
bool jobs_run() {
    sluice::Executor executor;
    auto counter = executor.add_actor("counter", 0);
    auto added = counter.mutate([](int& value) { return ++value; });
    auto result = added.wait();
    if (!result || *result != 1) {
        std::fputs("a job did not come back with its value\n", stderr);
        return false;
    }
    return true;
}

}  // namespace

int main() {
    if (sluice::library_version() != sluice::header_version) {
        std::fputs("headers and library are of two versions\n", stderr);
        return 1;
    }
    // Jobs first: whatever allocator they bring in is loaded when we look whose malloc this is.
    if (!jobs_run() || !malloc_is_still_libc()) {
        return 1;
    }
    std::puts("consumer ok");
    return 0;
}
