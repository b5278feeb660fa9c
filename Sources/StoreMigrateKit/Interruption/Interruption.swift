// What a signal does to a run. The first one stops it in order, however long what cannot be stopped takes; a second one
// ends the process. In both cases the tool says what is true of the files, which Aftermath finds out.

import CipherSQLite
import Foundation

/// The signals of one run, and how far the run is.
final class Interruption: Sendable {
  private enum Stage {
    /// Nothing was changed yet: a signal ends the process.
    case looking
    /// A signal stops what runs.
    case changing(any Aftermath)
    /// The last word was said, or is being said.
    case ended
  }

  private struct State {
    var stage = Stage.looking
    var signal: Int32?
    // Kept for as long as they are to work.
    var sources: [any DispatchSourceSignal] = []
  }

  /// The signals that stop a run.
  static let signals = [SIGINT, SIGTERM, SIGHUP]

  /// Cancelled by the first signal.
  let progress = Progress(totalUnitCount: 0)
  /// Closed by the first signal: a change of the key that is not committed yet will not be.
  let gate = CommitGate()
  private let state = Locked(State())

  /// The signal that was given.
  var signal: Int32? { state.withLock { $0.signal } }

  /// Listens to the signals from now on, but to those that the process was told to ignore (`nohup`).
  func listen() {
    // Registered by another thread, and until then a signal would be nobody's: it is waited for.
    let registration = DispatchGroup()
    for number in Self.signals {
      var former = sigaction()
      guard unsafe sigaction(number, nil, &former) == 0, !isIgnored(former) else { continue }
      // Not SIG_IGN, which the commands that we start would inherit.
      Foundation.signal(number) { _ in }
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler { [self] in received(number) }
      registration.enter()
      source.setRegistrationHandler { registration.leave() }
      source.resume()
      state.withLock { $0.sources.append(source) }
    }
    registration.wait()
  }

  private func isIgnored(_ action: sigaction) -> Bool {
    #if canImport(Darwin)
      let handler = unsafe action.__sigaction_u.__sa_handler
    #else
      let handler = unsafe action.__sigaction_handler.sa_handler
    #endif
    // Both are addresses of functions, or small numbers in their place; neither is called.
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Says that files are changed from now on, and who knows afterwards what became of them.
  func begin(_ aftermath: any Aftermath) {
    let isEnded = state.withLock { state in
      if case .ended = state.stage { return true }
      state.stage = .changing(aftermath)
      return false
    }
    if isEnded { waitForTheEnd() }
  }

  /// Says that nothing is changed for now, as while a question is asked: a signal ends the process then.
  func pause() {
    state.withLock { state in
      if case .changing = state.stage, state.signal == nil { state.stage = .looking }
    }
  }

  /// - Throws: `CancellationError` once a signal was given.
  func check() throws {
    if progress.isCancelled { throw CancellationError() }
  }

  /// Who knows what became of the files, once their change has begun. A signal may still end the process while that is
  /// looked at.
  var aftermath: (any Aftermath)? {
    state.withLock { state in
      if case .changing(let aftermath) = state.stage { aftermath } else { nil }
    }
  }

  /// Says that the run is over: what is printed from now on is the last word.
  func end() {
    let isSaid = state.withLock { state in
      if case .ended = state.stage { return true }
      state.stage = .ended
      return false
    }
    if isSaid { waitForTheEnd() }
  }

  /// The handler is saying the last word, and ends the process.
  private func waitForTheEnd() -> Never {
    while true { sleep(60) }
  }

  private func received(_ number: Int32) {
    enum Answer {
      case ends((any Aftermath)?)
      case stops
      case isOver
    }
    let answer = state.withLock { state -> Answer in
      defer { state.signal = state.signal ?? number }
      switch state.stage {
      case .ended: return .isOver
      case .looking:
        state.stage = .ended
        return .ends(nil)
      case .changing where state.signal == nil: return .stops
      case .changing(let aftermath):
        state.stage = .ended
        return .ends(aftermath)
      }
    }
    if case .stops = answer {
      progress.cancel()
      gate.stop()
      say("Stopping, as soon as it can be. A second signal ends it now.")
      return
    }
    // The last word is on its way; it may be that nobody takes it.
    if case .isOver = answer { sleep(2) }
    // From here on no change of a key is committed any more, and no new file gets its name.
    let phase = gate.stop()
    Temporaries.removeAll()
    InspectedFiles.removeAll()
    EchoGuard.restore()
    if case .ends(let aftermath) = answer {
      let truth = aftermath?.leftBehind(phase) ?? "Nothing was changed."
      say("\(Self.said(number)) \(truth)")
    }
    _exit(ExitCode(signal: number).rawValue)
  }

  private func say(_ text: String) {
    // On a terminal the cursor stands behind a bar, or behind ^C.
    StandardStream.error.write((isatty(2) == 1 ? "\n" : "") + "store-migrate: \(text)\n")
  }

  /// Such as `Interrupted (SIGTERM).`
  static func said(_ number: Int32) -> String {
    switch number {
    case SIGTERM: "Interrupted (SIGTERM)."
    case SIGHUP: "Interrupted (SIGHUP)."
    default: "Interrupted."
    }
  }
}
