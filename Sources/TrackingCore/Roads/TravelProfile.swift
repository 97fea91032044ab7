/// The means of travel that decides which roads a trackable can use and how fast it moves on them.
public enum TravelProfile: String, Hashable, Sendable, CaseIterable {
    case auto, bicycle, pedestrian, bus, truck
}
