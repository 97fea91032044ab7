public import ArgumentParser

/// The option `--config` for commands that do not connect to the broker and so have no ``BrokerOptions``.
public struct FileOptions: ParsableArguments {
    /// The path of the configuration file (YAML) from the command line; `nil` if the command line names none.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_STORE for --store), which wins over the file.",
            valueName: "path"))
    public var config: String?

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}
}
