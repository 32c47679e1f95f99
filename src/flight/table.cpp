// Flights by key: finding, inserting, forgetting, and where their memory goes.

#include "flight/flight.hpp"
#include "memory/default_resource.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <memory>
#include <new>

namespace sluice::detail {

using sync::memory_order_acq_rel;

namespace {

/// A visit of one bucket. What is freed at its end loses the table's reference.
class Visit {
public:
    explicit Visit(sync::BucketList<Flight>& bucket) noexcept : bucket_(bucket) {
        bucket.visit();
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit() {
        bucket_.leave([](Flight& flight) { flight.release(); });
    }

private:
    sync::BucketList<Flight>& bucket_;
};

[[nodiscard]] std::size_t offset_of_record(const FlightType& type) noexcept {
    return (sizeof(Flight) + type.alignment - 1) / type.alignment * type.alignment;
}
[[nodiscard]] std::size_t alignment_of(const FlightType& type) noexcept {
    return std::max(alignof(Flight), type.alignment);
}
[[nodiscard]] std::size_t size_of(const FlightType& type) noexcept {
    return offset_of_record(type) + type.size;
}

void free_block(Flight& flight) noexcept {
    FlightTable& table = *flight.table;
    const FlightType& type = *flight.type;
    std::destroy_at(&flight);
    table.memory->deallocate(&flight, size_of(type), alignment_of(type));
    table.release();
}

}  // namespace

void* Flight::record() noexcept {
    return reinterpret_cast<std::byte*>(this) + offset_of_record(*type);
}

void Flight::release() noexcept {
    // acq_rel: what any holder did with the record comes before its end.
    if (refs.fetch_sub(1, memory_order_acq_rel) != 1)
        return;
    type->destroy(record());
    free_block(*this);
}

// seq_cst where nothing is said: the table's counts are not on the way of a follower.

bool FlightTable::remove(Flight& flight) noexcept {
    sync::BucketList<Flight>& bucket = bucket_of(flight.hash);
    const Visit visit(bucket);
    return bucket.remove(flight);
}

void FlightTable::release() noexcept {
    if (refs.fetch_sub(1) != 1)
        return;
    std::destroy_n(buckets, bucket_count);
    std::pmr::memory_resource* const from = memory;
    const std::size_t bytes = bucket_count * sizeof(FlightBucket);
    from->deallocate(buckets, bytes, alignof(FlightBucket));
    std::destroy_at(this);
    from->deallocate(this, sizeof(FlightTable), alignof(FlightTable));
}

FlightTableRef::FlightTableRef(std::size_t buckets, std::pmr::memory_resource* memory) {
    std::pmr::memory_resource* const from = memory != nullptr ? memory : memory::default_resource();
    // More would be no number of bytes; the next power of two of the largest counts is not even a number.
    constexpr std::size_t most =
        std::bit_floor(std::numeric_limits<std::ptrdiff_t>::max() / sizeof(FlightBucket));
    if (buckets > most)
        throw std::bad_array_new_length();
    const std::size_t count = std::bit_ceil(std::max<std::size_t>(buckets, 1));
    void* const block = from->allocate(sizeof(FlightTable), alignof(FlightTable));
    try {
        void* const array = from->allocate(count * sizeof(FlightBucket), alignof(FlightBucket));
        table_ = ::new (block) FlightTable;
        table_->memory = from;
        table_->bucket_count = count;
        table_->buckets = static_cast<FlightBucket*>(array);
        std::uninitialized_default_construct_n(table_->buckets, count);
    } catch (...) {
        from->deallocate(block, sizeof(FlightTable), alignof(FlightTable));
        throw;
    }
}

FlightTableRef::~FlightTableRef() {
    table_->release();
}

FlightRef FlightTableRef::find(std::uint64_t hash, const void* key) const noexcept {
    sync::BucketList<Flight>& bucket = table_->bucket_of(hash);
    const Visit visit(bucket);
    Flight* const found = bucket.find(
        [&](Flight& flight) { return flight.hash == hash && flight.type->is_of(flight.record(), key); });
    if (found == nullptr)
        return {};
    found->retain();  // the table's reference stays until this visit is over
    return FlightRef(found);
}

Flight* FlightTableRef::draft(std::uint64_t hash, const FlightType& type, JobClass job_class) const noexcept {
    void* block = nullptr;
    try {
        block = table_->memory->allocate(size_of(type), alignment_of(type));
    } catch (...) {
        return nullptr;
    }
    auto* const flight = ::new (block) Flight;
    flight->table = table_;
    flight->type = &type;
    flight->hash = hash;
    flight->job_class = job_class;
    table_->refs.fetch_add(1);
    return flight;
}

void* FlightTableRef::record_of(Flight* draft) noexcept {
    return draft->record();
}

void FlightTableRef::discard(Flight* draft) noexcept {
    free_block(*draft);
}

FlightRef FlightTableRef::insert(Flight* draft, const void* key, bool& inserted) const noexcept {
    Flight* found = nullptr;
    table_->in_the_air.fetch_add(1);  // before it can land
    {
        sync::BucketList<Flight>& bucket = table_->bucket_of(draft->hash);
        const Visit visit(bucket);
        found = bucket.insert(*draft, [&](Flight& flight) {
            return flight.hash == draft->hash && flight.type->is_of(flight.record(), key);
        });
        if (found != nullptr)
            found->retain();  // as in find()
    }
    inserted = found == nullptr;
    if (inserted)
        return FlightRef(draft);
    table_->in_the_air.fetch_sub(1);
    draft->type->destroy(draft->record());
    free_block(*draft);
    return FlightRef(found);
}

bool FlightTableRef::forget(std::uint64_t hash, const void* key) const noexcept {
    const FlightRef found = find(hash, key);
    return found && table_->remove(*found.get());
}

std::size_t FlightTableRef::in_the_air() const noexcept {
    return table_->in_the_air.load();
}

}  // namespace sluice::detail
