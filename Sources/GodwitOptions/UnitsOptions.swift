public import ArgumentParser

/// In which units people read figures.
public struct UnitsOptions: ParsableArguments {
    /// The units of speeds, distances and altitudes.
    @Option(
        help: ArgumentHelp(
            "The units that people read: metric (km/h), imperial (mph) or nautical (kn).", valueName: "units"))
    public var units = DisplayUnits.metric

    /// Makes options.
    public init() {}
}
