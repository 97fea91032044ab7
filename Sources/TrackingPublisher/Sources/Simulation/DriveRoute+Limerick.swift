import TrackingCore

extension DriveRoute {
    /// The route of an imaginary courier through Limerick, drawn by hand for this project. It leaves the city along
    /// the docks, crosses the river, and returns through the north side and the centre, with two customers.
    static let limerickCourier = DriveRoute(
        Self.limerickPoints.compactMap { latitude, longitude, kilometersPerHour, halt in
            Coordinate(latitude: latitude, longitude: longitude).map {
                Point(coordinate: $0, limit: kilometersPerHour / 3.6, halt: halt)
            }
        })

    private static let limerickPoints: [(Double, Double, Double, Halt?)] = [
        (52.66140, -8.62960, 30, nil),
        (52.66065, -8.63020, 30, .lights),
        (52.65985, -8.63085, 30, nil),
        (52.65905, -8.63150, 30, .lights),
        (52.65825, -8.63215, 30, nil),
        (52.65880, -8.63420, 50, .lights),
        (52.65925, -8.63585, 50, nil),
        (52.65965, -8.63725, 50, .lights),
        (52.66070, -8.63640, 50, nil),
        (52.66175, -8.63545, 50, nil),
        (52.66290, -8.63420, 50, .lights),
        (52.66405, -8.63310, 50, nil),
        (52.66505, -8.63235, 50, .lights),
        (52.66560, -8.63420, 50, nil),
        (52.66605, -8.63590, 50, nil),
        (52.66650, -8.63810, 50, .lights),
        (52.66690, -8.64060, 60, nil),
        (52.66715, -8.64330, 60, nil),
        (52.66735, -8.64590, 60, .lights),
        (52.66880, -8.64545, 50, nil),
        (52.67035, -8.64470, 50, nil),
        (52.67180, -8.64350, 50, .delivery(seconds: 25)),
        (52.67290, -8.64190, 50, nil),
        (52.67370, -8.63960, 50, .lights),
        (52.67395, -8.63700, 50, nil),
        (52.67380, -8.63440, 50, nil),
        (52.67330, -8.63200, 50, .lights),
        (52.67240, -8.63010, 50, nil),
        (52.67130, -8.62840, 50, nil),
        (52.67035, -8.62720, 30, .lights),
        (52.66975, -8.62560, 30, nil),
        (52.66940, -8.62420, 30, nil),
        (52.66860, -8.62350, 30, .lights),
        (52.66770, -8.62330, 30, nil),
        (52.66690, -8.62360, 30, nil),
        (52.66620, -8.62410, 30, .delivery(seconds: 35)),
        (52.66545, -8.62480, 30, nil),
        (52.66470, -8.62560, 30, .lights),
        (52.66395, -8.62660, 30, nil),
        (52.66330, -8.62770, 30, .lights),
        (52.66235, -8.62870, 30, nil),
    ]
}
