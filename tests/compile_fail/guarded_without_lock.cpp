// Goal: a field that a mutex guards cannot be touched without it, in what clang compiles.
#include "platform/mutex.hpp"

class Counter {
public:
    int next() {
#ifndef SLUICE_TEST_MISUSE
        const sluice::platform::MutexLock lock(mutex_);
#endif
        return ++count_;
    }

private:
    sluice::platform::Mutex mutex_;
    int count_ SLUICE_GUARDED_BY(mutex_) = 0;
};

int main() {
    Counter counter;
    return counter.next() - 1;
}
