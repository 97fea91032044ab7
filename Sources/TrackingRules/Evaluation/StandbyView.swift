import TrackingCore
import TrackingSubscriber

/// The state of the broker's connection and of the trackables, as the latest events of the subscriber describe it.
///
/// A gateway that does not evaluate the rules collects this state. When it begins to evaluate them, it passes the state
/// to the rules' state machine, as the events of a new connection would.
struct StandbyView {
    private var isConnected = false
    private var locations: [TrackableID: ReceivedUpdate] = [:]
    private var resolutions: [TrackableID: SubscriberEvent] = [:]
    /// The trackables with a position at the broker; `nil` until the broker's retained messages have arrived.
    private var kept: Set<TrackableID>?

    /// Records an event of the subscriber.
    mutating func received(_ event: SubscriberEvent) {
        switch event {
        case .connection(let error):
            self = StandbyView()
            self.isConnected = error == nil
        case .positionsKept(let ids):
            self.kept = ids
        case .location(let id, let update) where !update.isLate:
            self.locations[id] = ReceivedUpdate(update: update.update, skipped: [], isLate: false, isRetained: true)
            if self.kept != nil { self.kept?.insert(id) }
        case .locationCleared(let id):
            self.locations[id] = nil
            self.kept?.remove(id)
        case .resolution(let id, _):
            self.resolutions[id] = event
        default:
            break
        }
    }

    /// The events that describe the state, in the order in which a new connection delivers them.
    var events: [SubscriberEvent] {
        guard self.isConnected else { return [] }
        return [.connection(nil)] + self.locations.map { .location($0, $1) } + self.resolutions.values
            + (self.kept.map { [.positionsKept($0)] } ?? [])
    }
}
