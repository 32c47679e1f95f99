#include "documents.hpp"

#include <ostream>
#include <utility>

namespace server {

sluice::Completion<std::uint64_t> Documents::set(const Set& request) {
    auto document = find(request.document);
    if (!document) {
        try {
            document = executor_.add_actor(request.document, Document{});  // there by now, whoever was first
        } catch (const sluice::Exception& refused) {
            return sluice::Completion<std::uint64_t>(refused.error());
        }
    }
    return document->mutate([key = request.key, value = request.value](Document& entries) mutable {
        Entry& entry = entries[std::move(key)];
        entry.value = std::move(value);
        return ++entry.writes;
    });
}

sluice::Completion<std::optional<Entry>> Documents::get(const Get& request) {
    auto document = find(request.document);
    if (!document)
        return sluice::Completion<std::optional<Entry>>(std::move(document).error());
    return document->read([key = request.key](const Document& entries) -> std::optional<Entry> {
        const auto found = entries.find(key);
        return found == entries.end() ? std::nullopt : std::optional(found->second);
    });
}

sluice::FlightCompletion<std::string> Documents::scan(const Scan& request) {
    auto document = find(request.document);
    if (!document)
        return sluice::FlightCompletion<std::string>(std::move(document).error());
    const std::string key = request.document + ' ' + request.prefix;
    return scans_.run(key, *document, sluice::Lane::pure_read,
                      [prefix = request.prefix](const Document& entries) {
                          std::string keys;
                          std::size_t count = 0;
                          const bool all = prefix == "*";
                          for (auto at = all ? entries.begin() : entries.lower_bound(prefix);
                               at != entries.end() && (all || at->first.starts_with(prefix)); ++at, ++count)
                              keys.append(" ").append(at->first);
                          return "found " + std::to_string(count) + keys;
                      });
}

void Documents::drain() {
    executor_.shutdown(sluice::Shutdown::drain);
    static_cast<void>(
        executor_.wait_shut_down());  // this is no thread of the executor's, so it can only end well
}

void Documents::dump(std::ostream& out) const {
    for (const sluice::ActorEntry& actor : executor_.actors()) {
        for (const auto& [key, entry] : *actor.context<Document>())
            out << actor.id() << ' ' << key << ' ' << entry.writes << ' ' << entry.value << '\n';
    }
}

}  // namespace server
