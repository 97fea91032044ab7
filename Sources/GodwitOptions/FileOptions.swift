public import ArgumentParser

/// The option `--config` for commands that do not connect to the broker and so have no ``BrokerOptions``.
public struct FileOptions: ParsableArguments {
    /// The path of the configuration file (YAML): as given with `--config`, or that of the program's default file if
    /// there is one; `nil` without a file.
    @Option(
        help: ArgumentHelp(
            "Read options from this YAML file, by their long names. The command line wins over the environment (GODWIT_STORE for --store), which wins over the file. Default: godwit.yaml in ~/.config/godwit or /etc/godwit.",
            valueName: "path"))
    public var config: String?

    /// Creates the option `--config` without a value. The command-line parser then sets the given value.
    public init() {}
}
