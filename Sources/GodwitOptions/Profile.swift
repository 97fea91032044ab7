public import ArgumentParser

/// A named set of option values. The command line, the environment and the configuration file each win over it, option
/// by option (`docs/reference/capture.md`, "Profiles").
public enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
    case highResolution = "high-resolution"
    case batterySaving = "battery-saving"
    case overland
    case nextbillion

    /// The options that the profile sets, by long name, with their values as in a file; sorted by name.
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

    /// The values of the profile `high-resolution`, which records every movement at once: for a bicycle ride, a flight
    /// or a race.
    private static let highResolutionKeys = [
        ("batch-window", "5"), ("desired-accuracy", "best"), ("minimum-distance", "0"), ("minimum-time", "0"),
        ("mode", "active"), ("pause", "off"),
    ]

    /// The values of the profile `battery-saving`, which records stays and few points between them: for days on one
    /// charge.
    private static let batterySavingKeys = [
        ("batch-window", "300"), ("mode", "passive"), ("pause", "on"),
        ("significant-change", "only"),
    ]

    /// The values of the profile `overland`: the settings of a freshly installed Overland app.
    private static let overlandKeys = [
        ("activity", "other"), ("batch-size", "200"), ("batch-window", "300"),
        ("default-resolution", "BALANCED/1000/0"),
        ("desired-accuracy", "100"), ("minimum-distance", "0"), ("minimum-time", "0"), ("mode", "custom"),
        ("pause", "off"), ("significant-change", "off"),
    ]

    /// The values of the profile `nextbillion`: the settings of a new NextBillion.ai tracker.
    private static let nextbillionKeys = [
        ("batch-size", "30"), ("batch-window", "20"), ("keep-points", "5000"), ("low-battery", "10"),
        ("mode", "active"),
        ("on-collision", "clear"), ("pause", "off"),
    ]
}
