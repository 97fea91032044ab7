import TrackingCore

extension NMEASentence {
    /// An impossible value in a sentence, such as a latitude of 95° or a 13th month.
    enum Impossible: String, Hashable, Sendable {
        case time = "time of day"
        case date
        case place = "position"
    }

    /// Returns the kinds of impossible values (time of day, date, position) in the fields of a GGA, RMC, GLL or ZDA
    /// sentence. The result is empty for other sentences, and for one that reports no fix: its fields may contain
    /// anything.
    func impossible(in fields: [NMEAField]) -> [Impossible] {
        let parts: [(Impossible, isKnown: Bool, places: [Int])] =
            switch self {
            case .gga(let gga) where gga.quality != 0:
                [(.time, gga.time != nil, [1]), (.place, gga.coordinate != nil, [2, 4])]
            case .rmc(let rmc) where rmc.isValid:
                [
                    (.time, rmc.time != nil, [1]), (.date, rmc.days != nil, [9]),
                    (.place, rmc.coordinate != nil, [3, 5]),
                ]
            case .gll(let gll) where gll.isValid:
                [(.time, gll.time != nil, [5]), (.place, gll.coordinate != nil, [1, 3])]
            case .zda(let zda) where fields.at(4).integer != 0:
                [(.time, zda.time != nil, [1]), (.date, zda.days != nil, [2, 3, 4])]
            case .gga, .rmc, .gll, .zda, .vtg, .gsa, .gst, .other: []
            }
        return parts.filter { _, isKnown, places in !isKnown && places.contains { !fields.at($0).isEmpty } }.map(\.0)
    }
}
