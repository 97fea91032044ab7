public import ArgumentParser

/// A named set of option values, chosen with `--profile`. A value from the command line, the environment or the
/// configuration file wins over the profile, for each option (`docs/reference/capture.md`, "Profiles").
public enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
    case highResolution = "high-resolution"
    case batterySaving = "battery-saving"
    case overland
    case nextbillion

    /// The options that the profile sets: the long name and the value of each, sorted by name.
    public var keys: [(name: String, value: String)] {
        switch self {
        case .highResolution: Self.highResolutionKeys
        case .batterySaving: Self.batterySavingKeys
        case .overland: Self.overlandKeys
        case .nextbillion: Self.nextbillionKeys
        }
    }

    /// Returns the value that the profile gives to an option; `nil` if the profile does not set the option.
    func value(of name: String) -> String? { self.keys.first { $0.name == name }?.value }

    /// The option values of the profile `high-resolution`, which records every movement, for example on a bicycle ride
    /// or in a race. The settings that the Overland app also has are those of its documentation for high resolution.
    private static let highResolutionKeys = [
        ("activity", "other"), ("batch-window", "5"), ("defer", "100"), ("desired-accuracy", "best"),
        ("minimum-distance", "0"), ("minimum-time", "0"), ("mode", "active"), ("pause", "off"),
        ("significant-change", "500"),
    ]

    /// The option values of the profile `battery-saving`, which records stays and few points between them, so that one
    /// charge lasts for days. The settings that the Overland app also has are those of its documentation for saving
    /// the battery.
    private static let batterySavingKeys = [
        ("activity", "other"), ("batch-window", "300"), ("desired-accuracy", "100"), ("mode", "passive"),
        ("pause", "on"), ("pause-radius", "500"), ("significant-change", "500"),
    ]

    /// The options that the profile `overland` sets, with their values. They correspond to the settings of a freshly
    /// installed Overland app.
    private static let overlandKeys = [
        ("activity", "other"), ("batch-size", "200"), ("batch-window", "300"),
        ("default-resolution", "BALANCED/1000/0"),
        ("desired-accuracy", "100"), ("minimum-distance", "0"), ("minimum-time", "0"), ("mode", "custom"),
        ("pause", "off"), ("significant-change", "off"),
    ]

    /// The option values of the profile `nextbillion`, which correspond to the settings of a new NextBillion.ai
    /// tracker.
    private static let nextbillionKeys = [
        ("batch-size", "30"), ("batch-window", "20"), ("keep-points", "5000"), ("low-battery", "10"),
        ("mode", "active"),
        ("on-collision", "clear"), ("pause", "off"),
    ]
}
