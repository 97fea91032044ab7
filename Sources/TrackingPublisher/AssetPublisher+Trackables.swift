import Logging
import TrackingCore

/// The tracked trackables of a publisher, and the check of their settings.
extension AssetPublisher {
    /// Logs that the metadata of a trackable is not published, if it breaks the rule of ``Trackable/metadata``.
    func checkMetadata(of trackable: Trackable) {
        guard let metadata = trackable.metadata, !metadata.isMetadata else { return }
        self.logger.warning(
            "Metadata of a trackable is not published",
            metadata: [
                "trackable": "\(trackable.id)", "bytes": "\(metadata.utf8.count)",
                "rule": "metadata must be \(WireLimits.metadataRule)",
            ])
    }
}
