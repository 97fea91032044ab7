extension TrackingMode {
    /// What the receiver does in this mode while nobody asks for more; `nil` for `custom`, which is as given.
    ///
    /// The figures are this project's own (`docs/capture.md`, "Modes").
    public var resolution: Resolution? {
        switch self {
        case .active: Resolution(unchecked: .high, milliseconds: 1000, displacement: 0)
        case .balanced: Resolution(unchecked: .balanced, milliseconds: 15_000, displacement: 25)
        case .passive: Resolution(unchecked: .low, milliseconds: 120_000, displacement: 200)
        case .custom: nil
        }
    }
}

/// How accurate the positions should be, in the metres of phones' settings.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
    case best
    case tenMetres = "10"
    case hundredMetres = "100"
    case kilometre = "1000"
    case threeKilometres = "3000"

    /// The class of accuracy that is asked of the receiver.
    public var accuracy: Resolution.Accuracy {
        switch self {
        case .best: .maximum
        case .tenMetres: .high
        case .hundredMetres: .balanced
        case .kilometre: .low
        case .threeKilometres: .minimum
        }
    }
}
