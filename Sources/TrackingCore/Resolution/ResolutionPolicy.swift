/// A rule that decides the resolution of one trackable.
///
/// The result must depend on the conditions alone: equal conditions give equal results. The rule is applied after every
/// event and every fix, and must therefore be fast. A loop over all subscribers' requests would be slow with many
/// subscribers.
///
/// This policy sends rarely at night, and otherwise decides as ``DefaultResolutionPolicy`` does:
///
///     struct NightPolicy: ResolutionPolicy {
///         func resolution(for conditions: TrackingConditions) -> Resolution {
///             let hour = conditions.situation.time.map { Int($0.seconds) / 3600 % 24 }
///             let isNight = hour.map { $0 >= 22 || $0 < 5 } ?? false
///             return isNight ? .low(every: .seconds(600)) : DefaultResolutionPolicy().resolution(for: conditions)
///         }
///     }
public protocol ResolutionPolicy: Sendable {
    /// Returns the resolution of a trackable under the given conditions.
    func resolution(for conditions: TrackingConditions) -> Resolution

    /// Returns the resolution that the receiver needs for this trackable. With `nil`, the default, it is the resolution
    /// of the trackable. The receiver gets the finest resolution of all trackables.
    func sensorResolution(for conditions: TrackingConditions) -> Resolution?

    /// Returns the longest time between two published positions, ≥ 0 s; zero sets no limit. With `nil`, the default, it
    /// follows from the trackable's settings.
    func maximumSilence(for conditions: TrackingConditions) -> Duration?
}

extension ResolutionPolicy {
    /// Returns `nil`: the receiver needs the resolution of the trackable.
    public func sensorResolution(for conditions: TrackingConditions) -> Resolution? { nil }

    /// Returns `nil`: the longest time between two published positions follows from the trackable's settings.
    public func maximumSilence(for conditions: TrackingConditions) -> Duration? { nil }
}
