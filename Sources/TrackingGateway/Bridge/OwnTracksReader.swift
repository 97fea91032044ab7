package import TrackingCore

/// Decides what a message of OwnTracks on the broker is: whose, and which records.
package struct OwnTracksReader: Sendable {
    /// What a message is.
    package enum Reading: Hashable, Sendable {
        /// Records of a trackable, and what of the message is none.
        case batch(TrackableID, PhoneBatch)
        /// Nothing to take in.
        case ignored(Reason)
        /// The topic gives no trackable.
        case refused(TrackingError)
    }

    /// Why a message is not taken in.
    package enum Reason: Hashable, Sendable {
        /// The broker's kept copy: it was heard when it was new.
        case replayed
        /// It is what a bridge republished.
        case ownPosition
        /// It has no content: a topic was cleared.
        case cleared
        /// It is on a topic of another kind.
        case otherTopic
    }

    /// What an operator may choose.
    package struct Configuration: Sendable {
        /// Where the messages are.
        package var topics: OwnTracksTopics
        /// The trackables of devices, by `user/device`; of those that are not here it is `user-device`.
        package var trackables: [String: TrackableID] = [:]
        /// The keys of trackables whose messages are encrypted.
        package var secrets: [TrackableID: OwnTracksSecret] = [:]
        /// The user under which positions are republished; `nil` where none are.
        package var outUser: String?

        /// Makes a configuration with the defaults above.
        package init(topics: OwnTracksTopics) { self.topics = topics }
    }

    private let configuration: Configuration

    /// Makes a reader.
    package init(_ configuration: Configuration) { self.configuration = configuration }

    /// What to listen to.
    package var filters: [String] { self.configuration.topics.filters }

    /// Reads a message.
    ///
    /// - Parameter time: The time of what has none of its own.
    package func read(_ message: IncomingMessage, receivedAt time: UnixTime) -> Reading {
        guard let place = self.configuration.topics.place(message.topic),
            place.part.map(OwnTracksTopics.parts.contains) ?? true
        else { return .ignored(.otherTopic) }
        guard !message.isRetained else { return .ignored(.replayed) }
        guard !message.payload.isEmpty else { return .ignored(.cleared) }
        guard place.user != self.configuration.outUser, !Self.isMarked(message.payload) else {
            return .ignored(.ownPosition)
        }
        do throws(TrackingError) {
            let id = try self.trackable(of: place)
            return .batch(id, self.batch(message.payload, of: id, receivedAt: time))
        } catch {
            return .refused(error)
        }
    }

    /// The trackable of a device.
    ///
    /// - Throws: `invalidName` where user and device give no id.
    func trackable(of place: OwnTracksTopics.Place) throws(TrackingError) -> TrackableID {
        if let id = self.configuration.trackables["\(place.user)/\(place.device)"] { return id }
        var identity = PhoneIdentity()
        identity.add(user: place.user, device: place.device)
        return try identity.trackable(of: .all)
    }

    private func batch(_ payload: ArraySlice<UInt8>, of id: TrackableID, receivedAt time: UnixTime) -> PhoneBatch {
        do throws(TrackingError) {
            return try OwnTracksDecoder.decode(
                Array(payload), receivedAt: time, secret: self.configuration.secrets[id])
        } catch {
            return PhoneBatch(refused: [RefusedPiece(reason: error.message, bytes: payload)])
        }
    }

    /// Whether a bridge republished it.
    static func isMarked(_ payload: ArraySlice<UInt8>) -> Bool {
        (try? JSONValue(json: payload))?["_via"]?.text == OwnTracksMessage.mark
    }
}
