import TrackingCore

/// The values of an update that most updates do not have. They are on the heap, so that the other updates are small.
final class LiveUpdateDetail: Hashable, Sendable {
    let location: Location?
    private let boxedEnhancement: Boxed<Enhancement>?
    private let boxedProgress: Boxed<JourneyProgress>?

    var enhancement: Enhancement? { self.boxedEnhancement?.wrappedValue }
    var progress: JourneyProgress? { self.boxedProgress?.wrappedValue }

    /// Creates the values of an update; returns `nil` if all of them are `nil`.
    init?(_ location: Location?, _ enhancement: Enhancement?, _ progress: JourneyProgress?) {
        guard location != nil || enhancement != nil || progress != nil else { return nil }
        self.location = location
        self.boxedEnhancement = enhancement.map { Boxed(wrappedValue: $0) }
        self.boxedProgress = progress.map { Boxed(wrappedValue: $0) }
    }

    static func == (one: LiveUpdateDetail, other: LiveUpdateDetail) -> Bool {
        one.location == other.location && one.enhancement == other.enhancement && one.progress == other.progress
    }

    func hash(into hasher: inout Hasher) { hasher.combine(self.location) }
}

/// The newest update of each kind about one trackable, without the parts that can be computed again. There are several
/// for each trackable of a fleet, so their size matters.
struct LatestUpdates: Sendable {
    private struct Stored: Sendable {
        let kind: LiveUpdate.Kind
        let number: UInt64
        let time: UnixTime
        /// The JSON data of the update's server-sent event.
        let payload: [UInt8]
    }

    /// The updates, in the order in which their kinds were first received.
    private var stored: [Stored] = []
    /// The last known position; `nil` for none.
    private(set) var position: LiveUpdateDetail?
    /// `true` if the trackable's publisher is present. A presence that is unknown, as after a loss of the connection to
    /// the broker, does not change the value.
    var isPublished = false

    /// The last known position; `nil` for none.
    var location: Location? { self.position?.location }

    /// The highest number of an update.
    var number: UInt64 { self.stored.lazy.map(\.number).max() ?? 0 }

    /// The JSON data of the updates, by kind.
    var payloads: [(kind: LiveUpdate.Kind, payload: [UInt8])] { self.stored.map { ($0.kind, $0.payload) } }

    /// Stores an update in place of the last one of its kind.
    mutating func set(_ update: LiveUpdate) {
        let new = Stored(kind: update.kind, number: update.id.number, time: update.id.time, payload: update.payload)
        if update.kind == .position { self.position = update.location == nil ? nil : update.detail }
        if let index = self.stored.firstIndex(where: { $0.kind == update.kind }) {
            self.stored[index] = new
        } else {
            // A trackable has few kinds, so an array of exactly their number saves memory.
            self.stored.reserveCapacity(self.stored.count + 1)
            self.stored.append(new)
        }
    }

    /// Removes the update of a kind that is no position.
    mutating func remove(_ kind: LiveUpdate.Kind) { self.stored.removeAll { $0.kind == kind } }

    /// Returns the updates, each as it was except for the coordinate, which is the present one, and for the journey.
    ///
    /// - Parameter epoch: The random id of this run of the gateway.
    func all(of id: TrackableID, epoch: UInt64) -> [LiveUpdate] {
        self.stored.map { self.update($0, of: id, epoch: epoch) }
    }

    /// Returns the update with the last known position, or with its clearing; `nil` if there was none.
    func positionUpdate(of id: TrackableID, epoch: UInt64) -> LiveUpdate? {
        self.stored.first { $0.kind == .position }.map { self.update($0, of: id, epoch: epoch) }
    }

    private func update(_ stored: Stored, of id: TrackableID, epoch: UInt64) -> LiveUpdate {
        LiveUpdate(
            id: LiveEventID(epoch: epoch, number: stored.number, time: stored.time), trackable: id, kind: stored.kind,
            place: self.location?.coordinate, payload: stored.payload,
            detail: stored.kind == .position ? self.position : nil)
    }
}
