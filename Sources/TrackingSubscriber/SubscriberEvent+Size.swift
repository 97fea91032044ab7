import TrackingCore

extension SubscriberEvent {
    /// About how many bytes of memory it takes while it waits for a reader.
    var approximateBytes: Int {
        let content =
            switch self {
            case .location(let id, let received), .raw(let id, let received):
                id.rawValue.utf8.count + received.update.location.approximateBytes
                    + Self.bytes(received.update.skipped) + Self.bytes(received.update.intermediate)
                    + Self.bytes(received.skipped)
            case .badMessage(let topic, let error), .publishRefused(let topic, let error):
                topic.utf8.count + error.message.utf8.count
            case .state(_, _, let error?), .refused(_, let error): error.message.utf8.count
            case .trip(_, let trip?): trip.approximateBytes
            case .event(_, let event): event.approximateBytes
            case .state, .presence, .resolution, .trip, .unheard, .connection: 0
            }
        return MemoryLayout<SubscriberEvent>.stride + content
    }

    private static func bytes(_ locations: [Location]) -> Int {
        locations.reduce(0) { $0 + MemoryLayout<Location>.stride + $1.approximateBytes }
    }
}

extension Trip {
    /// What it holds outside of itself.
    fileprivate var approximateBytes: Int {
        self.id.utf8.count + self.mode.utf8.count + (self.startLocation?.approximateBytes ?? 0)
            + (self.lastLocation?.approximateBytes ?? 0)
    }
}

extension TrackingEvent {
    /// What it holds outside of itself.
    fileprivate var approximateBytes: Int {
        let entry = MemoryLayout<(String, DetailValue)>.stride
        let detail = self.detail.reduce(0) { bytes, detail in
            guard case .text(let text) = detail.value else { return bytes + entry + detail.key.utf8.count }
            return bytes + entry + detail.key.utf8.count + text.utf8.count
        }
        return detail + self.id.utf8.count + self.kind.rawValue.utf8.count + (self.location?.approximateBytes ?? 0)
    }
}

extension Location {
    /// What it holds outside of itself.
    fileprivate var approximateBytes: Int {
        self.motion.count + (self.stream?.rawValue.utf8.count ?? 0) + (self.tripID?.utf8.count ?? 0)
            + (self.extra?.count ?? 0)
    }
}
