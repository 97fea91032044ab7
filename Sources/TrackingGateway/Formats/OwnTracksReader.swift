package import TrackingCore

/// Finds the trackable and the records of an OwnTracks message that arrived from the broker.
package struct OwnTracksReader: Sendable {
    /// The result of reading an OwnTracks message: its trackable and its records, or the reason why it is not ingested.
    package enum Reading: Hashable, Sendable {
        /// The OwnTracks message belongs to this trackable. Its contents are this batch: its records and its invalid
        /// pieces.
        case batch(TrackableID, PhoneBatch)
        /// The message is not ingested, for this reason.
        case ignored(Reason)
        /// The message is rejected, because its topic identifies no trackable.
        case refused(TrackingError)
    }

    /// The reason for ignoring an OwnTracks message.
    package enum Reason: Hashable, Sendable {
        /// The message is a retained copy. Its records were ingested when it was first published.
        case replayed
        /// A Godwit bridge republished the message, so its position is already recorded.
        case ownPosition
        /// The message is empty. It only clears the retained message of a topic.
        case cleared
        /// The message is on a topic whose messages are not ingested.
        case otherTopic
    }

    /// The settings of a reader of OwnTracks messages.
    package struct Configuration: Sendable {
        /// The OwnTracks topics on the broker.
        package var topics: OwnTracksTopics
        /// The trackable of each listed OwnTracks device; the key is `user/device`. A device that is not listed has the
        /// trackable `user-device`.
        package var trackables: [String: TrackableID] = [:]
        /// The keys with which the phones encrypt their messages, by trackable.
        package var secrets: [TrackableID: OwnTracksSecret] = [:]
        /// The OwnTracks user under which a bridge republishes positions; `nil` if it republishes none.
        package var outUser: String?

        /// Creates the settings of a reader of these OwnTracks topics: no listed trackables, no keys, and no
        /// republished positions.
        package init(topics: OwnTracksTopics) { self.topics = topics }
    }

    private let configuration: Configuration

    /// Creates a reader that finds the trackables and records of OwnTracks messages by these settings.
    package init(_ configuration: Configuration) { self.configuration = configuration }

    /// The topic filters to subscribe to, so that all OwnTracks messages with records are received.
    package var filters: [String] { self.configuration.topics.filters }

    /// Returns the trackable and the records of an OwnTracks message from the broker, or the reason why the message is
    /// ignored or refused.
    ///
    /// - Parameter time: The time of arrival, which becomes the time of messages without a time of their own.
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

    /// Returns the trackable of an OwnTracks device.
    ///
    /// - Throws: `invalidName` if user and device give no valid id of a trackable.
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

    /// Returns `true` if a Godwit bridge republished the message with this payload.
    static func isMarked(_ payload: ArraySlice<UInt8>) -> Bool {
        (try? JSONValue(json: payload))?["_via"]?.text == OwnTracksMessage.mark
    }
}
