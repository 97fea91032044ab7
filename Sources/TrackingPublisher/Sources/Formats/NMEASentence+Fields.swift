import TrackingCore

// The positions of the fields in each sentence; 0 is the address.

extension NMEASentence.GGA {
    init(_ fields: [NMEAField]) {
        self.time = fields.at(1).time
        self.coordinate = fields.coordinate(at: 2)
        self.quality = fields.at(6).integer ?? 0
        self.dilution = fields.at(8).magnitude
        self.altitude = fields.at(9).number
        self.geoidSeparation = fields.at(11).number
    }
}

extension NMEASentence.RMC {
    init(_ fields: [NMEAField]) {
        self.time = fields.at(1).time
        // NMEA 2.3 adds a mode. The mode N means "not valid", whatever the status is.
        self.isValid = fields.at(2).text == "A" && fields.at(12).text != "N"
        self.coordinate = fields.coordinate(at: 3)
        self.speed = fields.at(7).magnitude.map { $0 * NMEASentence.metersPerSecondInKnot }
        self.course = fields.at(8).number
        self.days = fields.at(9).days
    }
}

extension NMEASentence.GLL {
    init(_ fields: [NMEAField]) {
        self.coordinate = fields.coordinate(at: 1)
        self.time = fields.at(5).time
        self.isValid = fields.at(6).text == "A" && fields.at(7).text != "N"
    }
}

extension NMEASentence.VTG {
    init(_ fields: [NMEAField]) {
        self.course = fields.at(1).number
        self.speed =
            fields.at(5).magnitude.map { $0 * NMEASentence.metersPerSecondInKnot }
            ?? fields.at(7).magnitude.map { $0 / 3.6 }
    }
}

extension NMEASentence.GSA {
    init(_ fields: [NMEAField]) {
        self.mode = fields.at(2).integer
        self.horizontalDilution = fields.at(16).magnitude
        self.verticalDilution = fields.at(17).magnitude
    }
}

extension NMEASentence.GST {
    init(_ fields: [NMEAField]) {
        self.time = fields.at(1).time
        self.latitudeDeviation = fields.at(6).magnitude
        self.longitudeDeviation = fields.at(7).magnitude
        self.altitudeDeviation = fields.at(8).magnitude
    }
}

extension NMEASentence.ZDA {
    init(_ fields: [NMEAField]) {
        self.time = fields.at(1).time
        guard let day = fields.at(2).integer, let month = fields.at(3).integer, let year = fields.at(4).integer else {
            return
        }
        self.days = CivilTime.days(year: year, month: month, day: day)
    }
}

extension NMEASentence {
    /// One knot in metres a second. A knot is 1,852 m an hour by definition.
    static let metersPerSecondInKnot = 1852.0 / 3600.0

    /// The kind of this sentence, if its values contribute to a fix; `nil` for other sentences.
    var kind: Kind? {
        switch self {
        case .gga: .gga
        case .rmc: .rmc
        case .gll: .gll
        case .vtg: .vtg
        case .gsa: .gsa
        case .gst: .gst
        case .zda: .zda
        case .other: nil
        }
    }

    /// The kinds of NMEA sentences whose values contribute to a fix.
    enum Kind: Hashable, Sendable { case gga, rmc, gll, vtg, gsa, gst, zda }

    /// The time of day in the sentence; `nil` if the sentence contains none.
    var time: NMEATime? {
        switch self {
        case .gga(let sentence): sentence.time
        case .rmc(let sentence): sentence.time
        case .gll(let sentence): sentence.time
        case .gst(let sentence): sentence.time
        case .zda(let sentence): sentence.time
        case .vtg, .gsa, .other: nil
        }
    }
}
