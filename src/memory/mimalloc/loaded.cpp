// Debian's libmimalloc.so defines malloc, free and operator new next to mi_malloc. Were it on our link line, it would
// replace the allocator of every program that uses Sluice. Opened with RTLD_LOCAL its symbols are seen by nobody but us.

#include "memory/mimalloc/api.hpp"

#include <dlfcn.h>
#include <initializer_list>

namespace sluice::memory {
namespace {

struct Loaded {
    MimallocApi api{};
    bool complete = false;
};

template <typename Function>
bool look_up(void* library, const char* name, Function*& function) noexcept {
    function = reinterpret_cast<Function*>(dlsym(library, name));  // POSIX allows this conversion for dlsym
    return function != nullptr;
}

Loaded load() noexcept {
    Loaded result;
    // Never closed: blocks and thread-exit hooks of mimalloc may outlive every Executor. The major versions that we
    // know, newest first; the name without a number belongs to the -dev package and is not there at run time.
    void* library = nullptr;
    for (const char* name : {"libmimalloc.so.3", "libmimalloc.so.2"}) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library != nullptr) {
            break;
        }
    }
    if (library == nullptr) {
        return result;
    }
    result.complete = look_up(library, "mi_malloc_aligned", result.api.malloc_aligned) &&
                      look_up(library, "mi_free", result.api.free) &&
                      look_up(library, "mi_thread_init", result.api.thread_init) &&
                      look_up(library, "mi_version", result.api.version);
    return result;
}

}  // namespace

const MimallocApi* mimalloc_api() noexcept {
    static const Loaded loaded = load();
    return loaded.complete ? &loaded.api : nullptr;
}

}  // namespace sluice::memory
