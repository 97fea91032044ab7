import Foundation

/// A service that behaves as GeoClue does on the bus, with the positions of the test. It is written in Python with
/// libdbus, independently of the project's code.
///
/// The service ends at the latest when the last reference to this object is released.
public final class FakeGeoClue: Sendable {
    /// The behaviour of the service towards a client.
    public enum Behaviour: String, Sendable {
        case permits
        /// Denies the start, as GeoClue does for a program that its configuration forbids.
        case denies
        /// Never answers the request for a client, as GeoClue does without an agent of the user.
        case waits
    }

    private let folder: URL
    private let process: ChildProcess
    private let input: Int32

    /// Starts the service on a bus, and returns when it has its name there.
    ///
    /// - Throws: `TestSupportError` with the service's output.
    public static func start(on bus: PrivateBus, _ behaviour: Behaviour = .permits) async throws -> FakeGeoClue {
        let service = try FakeGeoClue(bus, behaviour)
        try await service.wait(for: "ready")
        return service
    }

    private init(_ bus: PrivateBus, _ behaviour: Behaviour) throws {
        self.folder = FileManager.default.temporaryDirectory.appending(path: "godwit-geoclue-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let pipe = self.folder.appending(path: "positions").path()
        guard mkfifo(pipe, 0o600) == 0 else { throw TestSupportError("cannot make the pipe \(pipe)") }
        // Opened for both directions, so that neither side waits for the other.
        self.input = open(pipe, O_RDWR | O_CLOEXEC)
        self.process = try ChildProcess(
            "/usr/bin/python3", ["-c", Self.script, bus.address, behaviour.rawValue], input: pipe,
            output: self.folder.appending(path: "log").path())
    }

    deinit {
        self.process.signal(SIGKILL)
        close(self.input)
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The output of the service so far: a line for each call and each change, such as `client`, `TimeThreshold=60`,
    /// `started` and `left`.
    public var log: String {
        (try? String(contentsOf: self.folder.appending(path: "log"), encoding: .utf8)) ?? ""
    }

    /// The number of lines of the output that are this text.
    public func count(of line: String) -> Int { self.log.split(separator: "\n").count { $0 == line } }

    /// Reports a position to the started client, and to a client that starts later.
    public func move(latitude: Double, longitude: Double, accuracy: Double = 300) {
        let line = Array("\(latitude) \(longitude) \(accuracy)\n".utf8)
        _ = write(self.input, line, line.count)
    }

    /// Waits until this line was output `count` times.
    public func wait(for line: String, count: Int = 1) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while self.count(of: line) < count {
            guard self.process.isRunning, ContinuousClock.now < deadline else {
                throw TestSupportError(
                    "the fake GeoClue did not output '\(line)' \(count) times. It needs python3-dbus and python3-gi: \(self.log)"
                )
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Ends the service, and returns after its end.
    public func end() async throws {
        self.process.signal(SIGTERM)
        try await self.process.waitForEnd()
    }

    private static let script = """
        import os, sys, time
        import dbus, dbus.service, dbus.lowlevel, dbus.mainloop.glib
        from gi.repository import GLib

        NAME = 'org.freedesktop.GeoClue2'
        UNKNOWN_ALTITUDE = -sys.float_info.max

        def say(text):
            print(text, flush=True)

        class Location(dbus.service.Object):
            def __init__(self, path, latitude, longitude, accuracy):
                super().__init__(bus, path)
                self.path, self.values = path, (latitude, longitude, accuracy)

            @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature='s', out_signature='a{sv}')
            def GetAll(self, interface):
                latitude, longitude, accuracy = self.values
                now = time.time()
                stamp = dbus.Struct((dbus.UInt64(int(now)), dbus.UInt64(int(now % 1 * 1e6))), signature='tt')
                return {'Latitude': latitude, 'Longitude': longitude, 'Accuracy': accuracy,
                        'Altitude': UNKNOWN_ALTITUDE, 'Speed': -1.0, 'Heading': -1.0, 'Description': '',
                        'Timestamp': stamp}

        class Client(dbus.service.Object):
            path, peer, number, current, is_started = '/org/freedesktop/GeoClue2/Client/1', None, 0, None, False

            @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature='ssv')
            def Set(self, interface, name, value):
                say('%s=%s' % (name, value))

            @dbus.service.method(NAME + '.Client')
            def Start(self):
                if sys.argv[2] == 'denies':
                    raise dbus.exceptions.DBusException(
                        "'godwit-agent' disallowed by configuration for UID 0",
                        name='org.freedesktop.DBus.Error.AccessDenied')
                say('started')
                self.is_started = True
                GLib.idle_add(self.report)

            def report(self):
                if self.is_started and self.current:
                    self.number += 1
                    location = Location('%s/Location/%d' % (self.path, self.number), *self.current)
                    signal = dbus.lowlevel.SignalMessage(self.path, NAME + '.Client', 'LocationUpdated')
                    signal.set_destination(self.peer)
                    signal.append(dbus.ObjectPath('/'), dbus.ObjectPath(location.path), signature='oo')
                    bus.send_message(signal)

            def owner_changed(self, owner):
                if not owner and self.is_started:
                    self.is_started = False
                    say('left')

        class Manager(dbus.service.Object):
            @dbus.service.method(NAME + '.Manager', out_signature='o', sender_keyword='sender',
                                 async_callbacks=('reply', 'fail'))
            def GetClient(self, sender, reply, fail):
                say('client')
                if sys.argv[2] != 'waits':
                    client.peer = sender
                    bus.watch_name_owner(sender, client.owner_changed)
                    reply(dbus.ObjectPath(client.path))

        def moved(source, condition):
            for line in os.read(0, 65536).decode().splitlines():
                client.current = tuple(float(number) for number in line.split())
                client.report()
            return True

        dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
        bus = dbus.bus.BusConnection(sys.argv[1])
        client = Client(bus, Client.path)
        manager = Manager(bus, '/org/freedesktop/GeoClue2/Manager')
        name = dbus.service.BusName(NAME, bus)
        GLib.io_add_watch(0, GLib.IO_IN, moved)
        say('ready')
        GLib.MainLoop().run()
        """
}
