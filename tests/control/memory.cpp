#include "control/memory.hpp"

namespace sluice::control {

void Memory::forget() noexcept {
    used_ = 0;
    clocks_ = {};
    plain_.clear();
    for (unsigned thread = 0; thread < most_threads; ++thread)
        step(thread);
}

std::uint32_t Memory::make(unsigned thread, std::uint64_t value) {
    if (used_ == locations_.size())
        locations_.emplace_back();
    Location& location = locations_[used_];
    location.history.clear();
    location.last_sequential = 0;
    location.gone = false;
    step(thread);
    Store& first = location.history.emplace_back();
    first.value = value;
    first.moment = {static_cast<std::uint8_t>(thread), clocks_[thread].at[thread]};
    return used_++;
}

std::size_t Memory::readable(unsigned thread, std::uint32_t id, std::memory_order order) const noexcept {
    const Location& location = locations_[id];
    const Clock& clock = clocks_[thread];
    std::size_t count = 0;
    for (std::size_t i = location.history.size(); i-- > 0;) {
        const Store& store = location.history[i];
        ++count;
        if (store.moment.before(clock))
            break;  // older ones are overwritten for this thread
        bool known = false;
        for (unsigned t = 0; t < most_threads; ++t)
            known |= store.read[t] != 0 && store.read[t] <= clock.at[t];
        if (known)
            break;  // it, or a thread whose read happened before, has seen this one
        if (order == std::memory_order_seq_cst && i == location.last_sequential)
            break;
    }
    return count;
}

std::uint64_t Memory::read(unsigned thread, std::uint32_t id, std::size_t age,
                           std::memory_order order) noexcept {
    Location& location = locations_[id];
    Store& store = location.history[location.history.size() - 1 - age];
    if (store.read[thread] == 0)
        store.read[thread] = clocks_[thread].at[thread];
    if (acquires(order))
        clocks_[thread].join(store.released);
    return store.value;
}

void Memory::write(unsigned thread, std::uint32_t id, std::uint64_t value, std::memory_order order,
                   bool update) {
    Location& location = locations_[id];
    Store store;
    store.value = value;
    store.moment = {static_cast<std::uint8_t>(thread), clocks_[thread].at[thread]};
    store.sequential = order == std::memory_order_seq_cst;
    if (update)
        store.released = location.history.back().released;
    if (releases(order))
        store.released.join(clocks_[thread]);
    if (store.sequential)
        location.last_sequential = location.history.size();
    location.history.push_back(store);
}

bool Memory::plain_read(unsigned thread, const void* address) {
    step(thread);  // it is later than a store before it, and not released by that one
    Plain& plain = plain_[address];
    const Clock& clock = clocks_[thread];
    plain.read[thread] = clock.at[thread];
    return plain.written.before(clock);
}

bool Memory::plain_write(unsigned thread, const void* address) {
    step(thread);
    Plain& plain = plain_[address];
    const Clock& clock = clocks_[thread];
    bool fine = plain.written.before(clock);
    for (unsigned t = 0; t < most_threads; ++t)
        fine = fine && plain.read[t] <= clock.at[t];
    plain.written = {static_cast<std::uint8_t>(thread), clock.at[thread]};
    plain.read = {};
    return fine;
}

}  // namespace sluice::control
