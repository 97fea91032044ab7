/// The means of travel that decides which roads a trackable can use and how fast it moves on them.
public enum TravelProfile: String, Hashable, Sendable, CaseIterable {
    case auto, bicycle, pedestrian, bus, truck

    /// Makes the means of travel of a device that reports these kinds of motion: `auto` unless the device cycles, walks
    /// or runs.
    package init(motion: [Motion]) {
        if motion.contains(.cycling) {
            self = .bicycle
        } else {
            self = motion.contains { $0 == .walking || $0 == .running } ? .pedestrian : .auto
        }
    }
}
