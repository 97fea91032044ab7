/// A rule that decides the resolution of one trackable.
///
/// The result must depend on the conditions alone: equal conditions give equal results. The rule is applied after every
/// event, and must therefore be fast. A loop over all subscribers' requests would be slow with many subscribers.
public protocol ResolutionPolicy: Sendable {
    /// Returns the resolution of a trackable under the given conditions.
    func resolution(for conditions: TrackingConditions) -> Resolution
}
