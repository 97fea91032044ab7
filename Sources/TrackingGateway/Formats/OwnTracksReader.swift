package import TrackingCore

/// Finds the trackable and the records of an OwnTracks message from the broker.
package struct OwnTracksReader: Sendable {
    /// The result of reading a message.
    package enum Reading: Hashable, Sendable {
        /// The records of a trackable, and the refused pieces of the message.
        case batch(TrackableID, PhoneBatch)
        /// The message has nothing to ingest.
        case ignored(Reason)
        /// The topic identifies no trackable.
        case refused(TrackingError)
    }

    /// The reason for ignoring a message.
    package enum Reason: Hashable, Sendable {
        /// A retained message, which was received when it was new.
        case replayed
        /// A position that a bridge republished.
        case ownPosition
        /// An empty message, which clears a topic.
        case cleared
        /// A message on a topic of another kind.
        case otherTopic
    }

    /// The options of a reader.
    package struct Configuration: Sendable {
        /// The topics of the messages.
        package var topics: OwnTracksTopics
        /// The trackables of devices, by `user/device`. A device that is not listed has the trackable `user-device`.
        package var trackables: [String: TrackableID] = [:]
        /// The keys of trackables whose messages are encrypted.
        package var secrets: [TrackableID: OwnTracksSecret] = [:]
        /// The user under which positions are republished; `nil` to republish none.
        package var outUser: String?

        /// Makes a configuration with the defaults above.
        package init(topics: OwnTracksTopics) { self.topics = topics }
    }

    private let configuration: Configuration

    /// Makes a reader.
    package init(_ configuration: Configuration) { self.configuration = configuration }

    /// The topic filters to subscribe to.
    package var filters: [String] { self.configuration.topics.filters }

    /// Reads a message.
    ///
    /// - Parameter time: The time of messages that have no time of their own.
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

    /// Returns the trackable of a device.
    ///
    /// - Throws: `invalidName` if user and device give no valid id.
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

    /// Returns `true` if a bridge republished the message.
    static func isMarked(_ payload: ArraySlice<UInt8>) -> Bool {
        (try? JSONValue(json: payload))?["_via"]?.text == OwnTracksMessage.mark
    }
}
