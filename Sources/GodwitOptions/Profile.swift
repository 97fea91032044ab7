public import ArgumentParser

/// A set of options under one name, beneath everything that is given by itself: the command line, the environment and the
/// file each win over it, option by option (`docs/capture.md`, "Profiles").
public enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
    case highResolution = "high-resolution"
    case batterySaving = "battery-saving"
    case overland
    case nextbillion

    /// The options that it sets, by their long names, as they would be written in a file; in order of name.
    public var keys: [(name: String, value: String)] {
        switch self {
        case .highResolution: Self.highResolutionKeys
        case .batterySaving: Self.batterySavingKeys
        case .overland: Self.overlandKeys
        case .nextbillion: Self.nextbillionKeys
        }
    }

    /// The value of one option; `nil` where the profile leaves it alone.
    func value(of name: String) -> String? { self.keys.first { $0.name == name }?.value }

    /// Every movement, at once: for a bicycle ride, a flight, a race.
    private static let highResolutionKeys = [
        ("batch-window", "5"), ("desired-accuracy", "best"), ("minimum-distance", "0"), ("minimum-time", "0"),
        ("mode", "active"), ("pause", "off"),
    ]

    /// Where one was, not how one got there: for days on one charge.
    private static let batterySavingKeys = [
        ("batch-window", "300"), ("mode", "passive"), ("pause", "on"),
        ("significant-change", "only"),
    ]

    /// What a freshly installed Overland does.
    private static let overlandKeys = [
        ("activity", "other"), ("batch-size", "200"), ("batch-window", "300"),
        ("default-resolution", "BALANCED/1000/0"),
        ("desired-accuracy", "100"), ("minimum-distance", "0"), ("minimum-time", "0"), ("mode", "custom"),
        ("pause", "off"), ("significant-change", "off"),
    ]

    /// What a freshly set up NextBillion.ai tracker does.
    private static let nextbillionKeys = [
        ("batch-size", "30"), ("batch-window", "20"), ("keep-points", "5000"), ("low-battery", "10"),
        ("mode", "active"),
        ("on-collision", "clear"), ("pause", "off"),
    ]
}
