public import ArgumentParser

/// The option for a configuration file, for commands without ``BrokerOptions``.
public struct FileOptions: ParsableArguments {
    /// The path of the configuration file.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_STORE for --store), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}
}
