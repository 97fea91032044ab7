public import ArgumentParser

/// The option `--units` for commands that print speeds, distances and altitudes.
public struct UnitsOptions: ParsableArguments {
    /// The units in which speeds, distances and altitudes are printed.
    @Option(
        help: ArgumentHelp(
            "Show speeds, distances and altitudes in these units: metric (km/h), imperial (mph) or nautical (kn).",
            valueName: "units"))
    public var units = DisplayUnits.metric

    /// Creates the option `--units` with its default value, metric. The command-line parser then sets the given value.
    public init() {}
}
