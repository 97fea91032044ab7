public import ArgumentParser

/// The configuration file of a command that has no broker; ``BrokerOptions`` has it for the others.
public struct FileOptions: ParsableArguments {
    /// The configuration file.
    @Option(
        help: ArgumentHelp(
            "A YAML file of options by their long names. The command line wins over the environment (GODWIT_STORE for --store), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// Made by the parser.
    public init() {}
}
