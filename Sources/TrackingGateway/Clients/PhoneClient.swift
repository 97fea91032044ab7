package import TrackingCore

/// Which program sends, as far as the answer depends on it (`docs/clients.md`, "Answers").
package enum PhoneClient: Hashable, Sendable {
    /// Overland for iOS, in whatever mode: it shows the `error` of an answer with status 200, and nothing of any other.
    case overland
    /// OwnTracks: it wants a list, takes 2xx for "delivered", and sends everything else again for ever.
    case ownTracks
    /// Overland's fork for Android, for which any 2xx is "delivered", and programs of one's own.
    case other

    /// Tells it by its name, and by the body where it has none that is known.
    package init(userAgent: String?, body: [UInt8]) {
        self.init(userAgent: userAgent)
        guard self == .other else { return }
        let root = try? JSONParts.members(of: JSONParts.value(of: body[...]))
        self = root?["_type"] != nil ? .ownTracks : .other
    }

    /// Tells it by its name alone.
    init(userAgent: String?) {
        let name = userAgent?.lowercased() ?? ""
        self = name.hasPrefix("overland/") ? .overland : name.contains("owntracks") ? .ownTracks : .other
    }
}

/// What a phone is told of its request.
package struct PhoneAnswer: Hashable, Sendable {
    /// The HTTP status.
    package let status: Int
    /// The body, always JSON.
    package let body: JSONValue

    private static func taken(_ client: PhoneClient, saved: Int, refused: Int) -> PhoneAnswer {
        switch client {
        case .ownTracks: PhoneAnswer(status: 200, body: .list([]))
        case .overland, .other:
            PhoneAnswer(
                status: 200,
                body: .object([
                    "result": .text("ok"), "saved": .number(Double(saved)), "refused": .number(Double(refused)),
                ]))
        }
    }

    /// All of it is safe: what is recorded at the broker and wherever else it must be, what was refused in quarantine.
    package static func taken(_ batch: PhoneBatch, by client: PhoneClient) -> PhoneAnswer {
        self.taken(client, saved: batch.records.count, refused: batch.refused.count)
    }

    /// It can not be read, now or ever. OwnTracks would send it for ever: it is told that it was taken, because it is in
    /// quarantine.
    package static func unreadable(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error)
        case .ownTracks: self.taken(client, saved: 0, refused: 1)
        case .other: self.failed(error.code == .payloadTooLarge ? 413 : 400, error)
        }
    }

    /// It is to be kept on the phone and sent again.
    package static func notTaken(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error)
        case .ownTracks, .other: self.failed(error.code == .invalidName ? 400 : 503, error)
        }
    }

    private static func failed(_ status: Int, _ error: TrackingError) -> PhoneAnswer {
        PhoneAnswer(status: status, body: .object(["error": .text(error.message)]))
    }
}
