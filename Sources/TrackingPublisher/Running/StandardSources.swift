extension LocationSource where Self == GPSDSource {
    /// A source of fixes from the receivers of gpsd. By default, gpsd runs on this device.
    ///
    /// - Parameters:
    ///   - host: The name or the address of gpsd's host.
    ///   - port: The port of gpsd.
    public static func gpsd(host: String = "127.0.0.1", port: UInt16 = GPSDSource.defaultPort) -> GPSDSource {
        GPSDSource(host: host, port: port)
    }
}

extension LocationSource where Self == GeoClueSource {
    /// The coarse positions of this device's GeoClue, which need no receiver.
    public static var geoClue: GeoClueSource { GeoClueSource() }
}

extension LocationSource where Self == SimulatedSource {
    /// A simulated courier on a bundled route, for a trial without a receiver.
    public static var simulation: SimulatedSource { SimulatedSource() }
}

extension BatterySource where Self == LinuxBattery {
    /// The batteries of this device. The charge is unknown on a device without a battery.
    public static var system: LinuxBattery { LinuxBattery() }
}
