import TrackingCore

extension SubscriberEvent {
    /// The approximate number of bytes that the event takes in memory while it waits for a reader.
    var approximateBytes: Int {
        let content =
            switch self {
            case .location(let id, let received), .publishedLocation(let id, let received), .raw(let id, let received):
                id.rawValue.utf8.count + received.update.location.approximateBytes
                    + Self.bytes(received.update.skipped) + Self.bytes(received.update.intermediate)
                    + Self.bytes(received.skipped) + (received.update.enhancement?.approximateBytes ?? 0)
            case .badMessage(let topic, let error), .publishRefused(let topic, let error):
                topic.utf8.count + error.message.utf8.count
            case .positionsKept(let ids):
                ids.reduce(0) { $0 + MemoryLayout<TrackableID>.stride + $1.rawValue.utf8.count }
            case .state(_, _, let error?), .refused(_, let error), .enhancedRefused(_, let error):
                error.message.utf8.count
            case .trip(_, let trip?), .tripRecorded(_, let trip): trip.approximateBytes
            case .event(_, let event): event.approximateBytes
            case .journey(_, let journey?): journey.approximateBytes
            case .estimate(_, let estimate?): estimate.approximateBytes
            case .presence(_, let presence): presence.metadata?.utf8.count ?? 0
            case .locationCleared, .state, .resolution, .trip, .journey, .estimate, .silent, .connection: 0
            }
        return MemoryLayout<SubscriberEvent>.stride + content
    }

    private static func bytes(_ locations: [Location]) -> Int {
        locations.reduce(0) { $0 + MemoryLayout<Location>.stride + $1.approximateBytes }
    }
}

extension Enhancement {
    /// The approximate number of bytes of the names of the road and its class on the heap.
    fileprivate var approximateBytes: Int { (self.road?.utf8.count ?? 0) + (self.roadClass?.utf8.count ?? 0) }
}

extension Trip {
    /// The approximate number of bytes of the trip's texts and positions on the heap. The fixed size of the struct
    /// itself is not included.
    fileprivate var approximateBytes: Int {
        self.id.utf8.count + self.mode.utf8.count + (self.startLocation?.approximateBytes ?? 0)
            + (self.lastLocation?.approximateBytes ?? 0)
    }
}

extension TrackingEvent {
    /// The approximate number of bytes of the event's texts, detail and position on the heap. The fixed size of the
    /// struct itself is not included.
    fileprivate var approximateBytes: Int {
        JSONValue.object(self.detail).approximateBytes + self.id.utf8.count + self.kind.rawValue.utf8.count
            + (self.location?.approximateBytes ?? 0)
    }
}

extension Journey {
    /// The approximate number of bytes of the journey's stops on the heap.
    fileprivate var approximateBytes: Int {
        self.stops.reduce(0) {
            $0 + MemoryLayout<Stop>.stride + $1.id.utf8.count + ($1.name?.utf8.count ?? 0)
        }
    }
}

extension Estimate {
    /// The approximate number of bytes of the estimate's stops and way on the heap.
    fileprivate var approximateBytes: Int {
        self.stops.reduce(0) { $0 + MemoryLayout<Stop>.stride + $1.id.utf8.count }
            + MemoryLayout<Coordinate>.stride * self.route.count
    }
}

extension JSONValue {
    /// The approximate overhead, in bytes, of a list or an object on the heap: its header and the allocator's overhead,
    /// without the elements.
    private static let storageBytes = 64

    /// The approximate number of bytes of the JSON value in memory, including everything that the value contains. A
    /// dictionary is counted as if it had twice as many places as members, because a dictionary has at most that many.
    fileprivate var approximateBytes: Int {
        let content =
            switch self {
            case .text(let text): text.utf8.count
            case .number, .flag: 0
            case .list(let list): list.reduce(list.isEmpty ? 0 : Self.storageBytes) { $0 + $1.approximateBytes }
            case .object(let members):
                members.reduce(members.isEmpty ? 0 : 2 * Self.storageBytes) {
                    $0 + 2 * MemoryLayout<String>.stride + $1.key.utf8.count + MemoryLayout<JSONValue>.stride
                        + $1.value.approximateBytes
                }
            }
        return MemoryLayout<JSONValue>.stride + content
    }
}

extension Location {
    /// The approximate number of bytes of the location's texts and lists on the heap. The fixed size of the struct
    /// itself is not included.
    fileprivate var approximateBytes: Int {
        self.motion.count + (self.stream?.rawValue.utf8.count ?? 0) + (self.tripID?.utf8.count ?? 0)
            + (self.extra?.count ?? 0)
    }
}
