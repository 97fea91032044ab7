import Synchronization
package import TrackingCore

/// The resolution requests of live streams.
extension LiveHub {
    /// The reason for rejecting the resolution request of a live stream.
    package enum RequestRefusal: Error, Hashable {
        /// The request names a live stream that does not exist or that belongs to another caller.
        case noStream
        /// The gateway has no current state of the trackable in memory, normally because it received no message about
        /// the trackable.
        case unknownTrackable
        /// The live stream already requests resolutions for the largest permitted number of trackables.
        case tooMany
    }

    /// Requests a resolution of a trackable for a live stream, or withdraws the stream's request (`nil`). A request
    /// ends with its stream.
    package func ask(
        _ resolution: Resolution?, for trackable: TrackableID, by id: LiveStreamID, of caller: Caller
    ) throws(RequestRefusal) {
        try self.shared.withLock { shared throws(RequestRefusal) in
            guard let stream = shared.streams[id], stream.caller.holder == caller.holder else { throw .noStream }
            guard let resolution else {
                if let change = shared.pool.drop(trackable, by: id) { self.request(trackable, change.resolution) }
                return
            }
            guard shared.state.knows(trackable) else { throw .unknownTrackable }
            guard shared.pool.hasRoom(for: trackable, of: id) else { throw .tooMany }
            if let change = shared.pool.ask(resolution, for: trackable, by: id) {
                self.request(trackable, change.resolution)
            }
        }
    }
}
