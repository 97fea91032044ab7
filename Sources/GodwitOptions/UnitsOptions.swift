public import ArgumentParser

/// The option for the units of figures.
public struct UnitsOptions: ParsableArguments {
    /// The units of speeds, distances and altitudes.
    @Option(
        help: ArgumentHelp(
            "Show figures in these units: metric (km/h), imperial (mph) or nautical (kn).", valueName: "units"))
    public var units = DisplayUnits.metric

    /// Creates the options with their defaults; the parser sets the values.
    public init() {}
}
