public import TrackingCore
import Synchronization
import TrackingRuntime

/// A publisher that has announced itself on a trackable, and has not ended in order since.
public struct KnownPublisher: Hashable, Sendable {
    /// The trackable on which the publisher announced itself.
    public var trackable: TrackableID
    /// The client id of the publisher.
    public var client: ClientID
    /// `true` if the publisher is present: the subscriber is connected, and the lease of the publisher has not ended.
    public var isPresent: Bool
    /// `true` if the publisher is the owner: of the present publishers, the one whose positions count.
    public var isOwner: Bool
    /// The time from which the publisher tracks the trackable.
    public var since: UnixTime
    /// The time of the publisher's last presence or heartbeat that the subscriber received live, by the wall clock of
    /// this computer, or of its newest known position, whichever is later. `nil` if both are unknown.
    public var lastSeen: UnixTime?
    /// The publisher's text about the trackable, at most 1,024 bytes; `nil` for none.
    public var metadata: String?
}

extension AssetSubscriber {
    /// Returns the known publishers of trackables, ordered by trackable and client id: those that are present, and those
    /// whose connection broke or that another publisher superseded.
    ///
    /// The publishers come from retained messages, so the list is complete once ``SubscriberEvent/positionsKept(_:)`` was
    /// delivered. A publisher that ended in order is not in the list. The list is empty while the subscriber does not
    /// run.
    ///
    /// - Parameter ids: The trackables; `nil` for all watched ones. A trackable that is not watched has no known
    ///   publishers.
    public func knownPublishers(of ids: [TrackableID]? = nil) async -> [KnownPublisher] {
        let (answers, answer) = AsyncStream.makeStream(of: [KnownPublisher].self)
        let request: UInt64? = self.shared.withLock { shared in
            guard shared.hasBegun, !shared.hasEnded else { return nil }
            shared.lastRequest += 1
            shared.listing[shared.lastRequest] = answer
            return shared.lastRequest
        }
        guard let request else { return [] }
        self.mailbox.post(.listPublishers(ids, request: request))
        for await found in answers { return found }
        return []
    }
}

extension SubscriberStateMachine {
    /// Returns the known publishers of these trackables, or of all watched ones (`nil`), ordered by trackable and client
    /// id.
    func knownPublishers(of ids: [TrackableID]?, at moment: Moment) -> [KnownPublisher] {
        (ids ?? self.trackables).sorted().flatMap { id -> [KnownPublisher] in
            guard let asset = self.assets[id] else { return [] }
            let known = self.member.presence.knownPublishers(on: id)
            return known.sorted { $0.client.rawValue < $1.client.rawValue }.map { member in
                let sign = member.lastSign.map { moment.wall.advanced(by: moment.now.duration(to: $0)) }
                // A device whose clock is ahead was not seen in the future.
                let position = asset.newestPosition(of: member.presence.stream).map { min($0, moment.wall) }
                let isPresent = member.isPresent && self.member.session.isConnected
                return KnownPublisher(
                    trackable: id, client: member.client,
                    isPresent: isPresent, isOwner: isPresent && asset.owner?.client == member.client,
                    since: member.presence.since, lastSeen: [sign, position].compactMap { $0 }.max(),
                    metadata: member.presence.metadata)
            }
        }
    }
}
