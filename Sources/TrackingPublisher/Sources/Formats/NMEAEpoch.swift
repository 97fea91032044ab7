import TrackingCore

/// The values that the sentences of one epoch (one time of day) contained so far.
struct NMEAEpoch: Hashable, Sendable {
    /// The time of day that all sentences of this epoch contain. An epoch is the group of sentences with the same time
    /// of day.
    let time: NMEATime
    /// The date of this epoch, in days since 1970-01-01; `nil` if no sentence of the epoch contains it.
    private(set) var days: Int?

    private var coordinate: Coordinate?
    /// `true` when a GGA, RMC or GLL sentence reports that there is no fix, or that the position was entered by hand.
    /// That report overrides the other sentences.
    private var isInvalid = false
    private var fixMode: Int?
    private var isDifferential = false
    private var altitude: Double?
    private var dilution: Double?
    private var verticalDilution: Double?
    private var deviations: NMEASentence.GST?
    private var speed: Double?
    private var course: Double?
    /// `true` when the last GGA sentence of the epoch reports that the position is simulated.
    private var isSimulated = false

    /// Begins an epoch of sentences with this time of day.
    init(time: NMEATime) { self.time = time }

    /// `true` when the epoch has a position and no sentence reports that there is no fix.
    var hasFix: Bool { self.coordinate != nil && !self.isInvalid && self.fixMode != 1 }

    /// Adds the values of a sentence to the epoch that the sentence belongs to.
    mutating func add(_ sentence: NMEASentence) {
        switch sentence {
        case .gga(let gga): self.add(gga)
        case .rmc(let rmc): self.add(rmc)
        case .gll(let gll):
            self.isInvalid = self.isInvalid || !gll.isValid
            self.coordinate = self.coordinate ?? gll.coordinate
        case .vtg(let vtg):
            self.speed = self.speed ?? vtg.speed
            self.course = self.course ?? vtg.course
        case .gsa(let gsa): self.add(gsa)
        case .gst(let gst): self.deviations = gst
        case .zda(let zda): self.days = zda.days ?? self.days
        case .other: break
        }
    }

    /// Returns the fix of the epoch, if any. Without a date in the sentences, the fix gets the date that puts its time
    /// of day nearest to `reference`.
    func location(nearest reference: UnixTime) -> Location? {
        guard self.hasFix, let coordinate = self.coordinate else { return nil }
        var location = Location(coordinate: coordinate, time: self.moment(nearest: reference))
        let is3D = self.fixMode != 2
        location.altitude = is3D ? self.altitude : nil
        location.accuracyHorizontal = self.accuracyHorizontal
        location.accuracyVertical = is3D ? self.accuracyVertical : nil
        location.speed = self.speed
        // A stationary object has no direction of travel, but receivers continue to report the last one, or 0.
        location.bearing = self.speed == 0 ? nil : self.course?.normalizedBearing
        return self.isSimulated ? MockPolicy.marked(location) : location
    }

    /// Returns the date and time of this epoch. Without a date in the sentences, the result is the moment with this
    /// time of day that is nearest to `reference`.
    func moment(nearest reference: UnixTime) -> UnixTime {
        guard let days = self.days else {
            return CivilTime.moment(secondsOfDay: self.time.seconds, nearest: reference)
        }
        return UnixTime(Double(days) * CivilTime.secondsPerDay + self.time.seconds)
    }

    private mutating func add(_ gga: NMEASentence.GGA) {
        // A position that was entered by hand (quality 7) is no fix.
        self.isInvalid = self.isInvalid || gga.quality == 0 || gga.quality == 7
        self.isSimulated = gga.quality == 8
        self.isDifferential = (2...5).contains(gga.quality)
        self.coordinate = gga.coordinate ?? self.coordinate
        self.dilution = gga.dilution ?? self.dilution
        if let altitude = gga.altitude, let separation = gga.geoidSeparation { self.altitude = altitude + separation }
    }

    private mutating func add(_ rmc: NMEASentence.RMC) {
        self.isInvalid = self.isInvalid || !rmc.isValid
        self.coordinate = self.coordinate ?? rmc.coordinate
        self.days = rmc.days ?? self.days
        self.speed = rmc.speed ?? self.speed
        self.course = rmc.course ?? self.course
    }

    /// Adds the mode of the fix and the dilutions of a GSA sentence. A receiver of several satellite systems sends one
    /// GSA sentence for each system: the best mode counts, and the first of each kind of dilution.
    private mutating func add(_ gsa: NMEASentence.GSA) {
        if let mode = gsa.mode, (1...3).contains(mode) { self.fixMode = max(self.fixMode ?? 1, mode) }
        self.dilution = self.dilution ?? gsa.horizontalDilution
        self.verticalDilution = self.verticalDilution ?? gsa.verticalDilution
    }

    private var accuracyHorizontal: Double? {
        if let north = self.deviations?.latitudeDeviation, let east = self.deviations?.longitudeDeviation {
            return Confidence.radius(deviations: north, east)
        }
        // Receivers report 0 or 99.99 for "unknown".
        guard let dilution = self.dilution, dilution > 0, dilution < 99 else { return nil }
        return Confidence.radius(dilution: dilution, isDifferential: self.isDifferential)
    }

    private var accuracyVertical: Double? {
        if let deviation = self.deviations?.altitudeDeviation { return deviation }
        guard let dilution = self.verticalDilution, dilution > 0, dilution < 99 else { return nil }
        return dilution * (self.isDifferential ? Confidence.differentialRangeError : Confidence.rangeError)
    }
}
