import Logging
import Synchronization
public import TrackingCore
import TrackingRuntime

/// The tracked trackables of a publisher, and the check of their settings.
extension AssetPublisher {
    /// The ids of the tracked trackables: those at present, and then the whole set after each change. A slow reader gets
    /// only the newest set. The same set can be delivered more than once.
    ///
    ///     for await ids in publisher.trackables { print("tracks", ids.sorted()) }
    public var trackables: AsyncStream<Set<TrackableID>> {
        let stream = self.streams.trackables.listen()
        self.deliverTrackables { (_: inout PublisherShared) in true }
        return stream
    }

    /// Applies a change to the states of the trackables, and delivers the set of tracked trackables if the change
    /// returns `true`.
    ///
    /// The delivery is within the lock, so that an older set never follows a newer one.
    func deliverTrackables(if change: (inout PublisherShared) -> Bool) {
        self.shared.withLock { shared in
            if change(&shared) { self.streams.trackables.deliver(Set(shared.states.keys)) }
        }
    }

    /// Logs that the metadata of a trackable is not published, if it breaks the rule of ``Trackable/metadata``.
    func checkMetadata(of trackable: Trackable) {
        guard let metadata = trackable.metadata, !metadata.isMetadata else { return }
        self.logger.warning(
            "Metadata of a trackable is not published, because it breaks the rule for metadata: the trackable is published without metadata. Correct the metadata",
            metadata: [
                "trackable": "\(trackable.id)", "bytes": "\(metadata.utf8.count)",
                "rule": "metadata must be \(WireLimits.metadataRule)",
            ])
    }
}
