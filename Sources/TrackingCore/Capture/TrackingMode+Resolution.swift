extension TrackingMode {
    /// The receiver's resolution in this mode without requests; `nil` for `custom`, for which the user configures one.
    ///
    /// The values are Godwit's own (`docs/reference/capture.md`, "Modes").
    public var resolution: Resolution? {
        switch self {
        case .active: Resolution(unchecked: .high, milliseconds: 1000, displacement: 0)
        case .balanced: Resolution(unchecked: .balanced, milliseconds: 15_000, displacement: 25)
        case .passive: Resolution(unchecked: .low, milliseconds: 120_000, displacement: 200)
        case .custom: nil
        }
    }
}

/// The desired accuracy of positions in metres, as in the settings of phones.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
    case best
    case tenMetres = "10"
    case hundredMetres = "100"
    case kilometre = "1000"
    case threeKilometres = "3000"

    /// The accuracy class to request from the receiver.
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
