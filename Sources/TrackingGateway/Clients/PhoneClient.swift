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

    /// The answer to a request whose records are safe: at the broker and wherever else they must be, or in quarantine.
    ///
    /// - Parameters:
    ///   - messages: Friends and commands for OwnTracks.
    ///   - settings: Settings for Overland to change.
    ///   - secret: The key of the answer to OwnTracks; `nil` for an answer that is not encrypted.
    package static func taken(
        _ batch: PhoneBatch, by client: PhoneClient, messages: [JSONValue] = [], settings: [String: JSONValue] = [:],
        secret: OwnTracksSecret? = nil
    ) -> PhoneAnswer {
        if client == .ownTracks { return PhoneAnswer(status: 200, body: Self.ownTracks(messages, secret)) }
        var body: [String: JSONValue] = [
            "result": .text("ok"), "saved": .number(Double(batch.records.count)),
            "refused": .number(Double(batch.refused.count)),
        ]
        if client == .overland, !settings.isEmpty { body["set"] = .object(settings) }
        return PhoneAnswer(status: 200, body: .object(body))
    }

    /// A list of messages; encrypted as a whole, as the OwnTracks Recorder does and the apps expect.
    private static func ownTracks(_ messages: [JSONValue], _ secret: OwnTracksSecret?) -> JSONValue {
        let list = JSONValue.list(messages)
        guard let secret, !messages.isEmpty else { return list }
        return .object(["_type": .text("encrypted"), "data": .text(secret.seal(list.json))])
    }

    /// It can not be read, now or ever. OwnTracks would send it for ever: it is told that it was taken, because it is in
    /// quarantine.
    package static func unreadable(_ error: TrackingError, by client: PhoneClient) -> PhoneAnswer {
        switch client {
        case .overland: self.failed(200, error)
        case .ownTracks: self.taken(PhoneBatch(), by: client)
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
