#pragma once

// A mutex that clang's -Wthread-safety knows as one, which libstdc++'s is not: that a field is touched under its lock only is then
// checked by the compiler where a comment would merely say so. For the few places that tests/tidy/locks.txt allows.
//
// Not for src/platform/portable/futex.cpp: its mutex guards no field, and std::condition_variable wants a std::mutex.

#include <mutex>

// Attributes that clang alone has. Each stands behind a member or a function, and names the mutex.
#ifdef __clang__
#define SLUICE_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define SLUICE_THREAD_SAFETY(...)
#endif
/// Of a field: read and written with `mutex` held.
#define SLUICE_GUARDED_BY(mutex) SLUICE_THREAD_SAFETY(guarded_by(mutex))
/// Of a function: called with `mutex` held.
#define SLUICE_REQUIRES(mutex) SLUICE_THREAD_SAFETY(requires_capability(mutex))

namespace sluice::platform {

class SLUICE_THREAD_SAFETY(capability("mutex")) Mutex {
public:
    void lock() SLUICE_THREAD_SAFETY(acquire_capability()) {
        mutex_.lock();
    }
    void unlock() noexcept SLUICE_THREAD_SAFETY(release_capability()) {
        mutex_.unlock();
    }

private:
    std::mutex
        mutex_;  // whoever has a Mutex says beside it why, and on whose way it lies; see tests/tidy/locks.txt
};

class SLUICE_THREAD_SAFETY(scoped_lockable) MutexLock {
public:
    explicit MutexLock(Mutex& mutex) SLUICE_THREAD_SAFETY(acquire_capability(mutex)) : mutex_(mutex) {
        mutex_.lock();
    }
    ~MutexLock() SLUICE_THREAD_SAFETY(release_capability()) {
        mutex_.unlock();
    }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

private:
    Mutex& mutex_;
};

}  // namespace sluice::platform
