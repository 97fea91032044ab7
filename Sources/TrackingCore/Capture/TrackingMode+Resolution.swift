extension TrackingMode {
    /// The resolution (accuracy, interval, displacement) of this tracking mode while no subscriber requests one.
    /// `nil` for the mode `custom`, for which the user sets a resolution.
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

/// The accuracy that the user wishes for positions: the best, or 10 to 3,000 metres, as in the settings of phones.
public enum DesiredAccuracy: String, Hashable, Sendable, CaseIterable {
    case best
    case tenMetres = "10"
    case hundredMetres = "100"
    case kilometre = "1000"
    case threeKilometres = "3000"

    /// The accuracy class, one of five from minimum to maximum, to request from the receiver for this desired accuracy.
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
