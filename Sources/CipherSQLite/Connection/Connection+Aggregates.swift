// Aggregate and window functions, defined by Swift closures that update a state.
//
// The engine retains the closures from register to destroyCallback, and the state of each group from its
// first row to finalCallback. Everything else that the engine passes to a callback is valid during that call
// only.

private import CSQLCipher
private import Foundation

/// The closures of one aggregate: initial state, step, inverse step, result.
private final class Aggregate {
  let make: () -> Any
  let step: (inout Any, [SQLValue]) -> Void
  let inverse: (inout Any, [SQLValue]) -> Void
  let result: (Any) -> SQLValue

  init(
    make: @escaping () -> Any, step: @escaping (inout Any, [SQLValue]) -> Void,
    inverse: @escaping (inout Any, [SQLValue]) -> Void, result: @escaping (Any) -> SQLValue
  ) {
    self.make = make
    self.step = step
    self.inverse = inverse
    self.result = result
  }
}

// The state of one group, boxed so that SQLite's aggregate context can point to it.
private final class GroupState {
  var value: Any
  init(_ value: Any) { self.value = value }
}

private func aggregate(_ context: OpaquePointer?) -> Aggregate? {
  unsafe sqlite3_user_data(context).map { unsafe Unmanaged<Aggregate>.fromOpaque($0).takeUnretainedValue() }
}

private func arguments(_ count: Int32, _ values: UnsafeMutablePointer<OpaquePointer?>?) -> [SQLValue] {
  (0..<Int(count)).map { unsafe sqlValue(values?[$0]) }
}

/// Returns the group's state, and creates it at the group's first row; nil if there is no memory. SQLite's
/// context for the group has eight bytes, zero at first. They contain a retained reference to the state,
/// which finalCallback releases: SQLite makes that call for every group that was begun.
private func state(_ context: OpaquePointer?, _ aggregate: Aggregate) -> GroupState? {
  let size = unsafe Int32(MemoryLayout<UnsafeMutableRawPointer?>.size)
  guard
    let slot = unsafe sqlite3_aggregate_context(context, size)?.assumingMemoryBound(
      to: UnsafeMutableRawPointer?.self)
  else { return nil }
  if let known = unsafe slot.pointee {
    return unsafe Unmanaged<GroupState>.fromOpaque(known).takeUnretainedValue()
  }
  let fresh = GroupState(aggregate.make())
  unsafe slot.pointee = unsafe Unmanaged.passRetained(fresh).toOpaque()
  return fresh
}

private let stepCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = unsafe aggregate(context), let state = unsafe state(context, aggregate) else {
      return
    }
    unsafe aggregate.step(&state.value, arguments(count, values))
  }

private let inverseCallback:
  @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void = {
    context, count, values in
    guard let aggregate = unsafe aggregate(context), let state = unsafe state(context, aggregate) else {
      return
    }
    unsafe aggregate.inverse(&state.value, arguments(count, values))
  }

private let valueCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = unsafe aggregate(context) else { return }
  unsafe setSQLResult(aggregate.result(state(context, aggregate)?.value ?? aggregate.make()), in: context)
}

private let finalCallback: @convention(c) (OpaquePointer?) -> Void = { context in
  guard let aggregate = unsafe aggregate(context) else { return }
  // A group without rows has no context. With a size of 0 the call returns nil instead of allocating one.
  let slot = unsafe sqlite3_aggregate_context(context, 0)?.assumingMemoryBound(
    to: UnsafeMutableRawPointer?.self)
  guard let known = unsafe slot?.pointee else {
    return unsafe setSQLResult(aggregate.result(aggregate.make()), in: context)
  }
  let state = unsafe Unmanaged<GroupState>.fromOpaque(known).takeRetainedValue()
  unsafe slot?.pointee = nil
  unsafe setSQLResult(aggregate.result(state.value), in: context)
}

private let destroyCallback: @convention(c) (UnsafeMutableRawPointer?) -> Void = { data in
  unsafe data.map { unsafe Unmanaged<Aggregate>.fromOpaque($0).release() }
}

extension Connection {
  /// Registers an aggregate function, for `SELECT name(x) … GROUP BY …`.
  ///
  /// ```swift
  /// try connection.register(
  ///   aggregate: "product", argumentCount: 1, initial: 1.0
  /// ) { state, arguments in
  ///   state *= arguments[0].double ?? 1
  /// } result: { .real($0) }
  /// ```
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - argumentCount: The number of arguments; -1 for any number.
  ///   - initial: The state of each group before its first row.
  ///   - step: Adds a row to the state.
  ///   - result: Returns the value of a group. Without rows it receives the initial state.
  /// - Throws: ``SQLError``.
  public func register<State>(
    aggregate name: String, argumentCount: Int, initial: State,
    step: @escaping (inout State, [SQLValue]) -> Void, result: @escaping (State) -> SQLValue
  ) throws {
    let handle = try unsafe opened()
    let box = unsafe Unmanaged.passRetained(
      Self.boxed(initial: initial, step: step, inverse: { _, _ in }, result: result)
    ).toOpaque()
    let code = unsafe sqlite3_create_function_v2(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box, nil, stepCallback,
      finalCallback, destroyCallback)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  /// Registers an aggregate function that is also a window function, for `name(x) OVER (…)`.
  ///
  /// - Parameters:
  ///   - name: The function's name in SQL.
  ///   - argumentCount: The number of arguments; -1 for any number.
  ///   - initial: The state before the first row.
  ///   - step: Adds a row to the state.
  ///   - inverse: Removes from the state a row that has left the window.
  ///   - result: Returns the value of a state.
  /// - Throws: ``SQLError/unsupported(feature:engine:)`` if ``Engine/hasWindowFunctions`` is false.
  public func register<State>(
    window name: String, argumentCount: Int, initial: State,
    step: @escaping (inout State, [SQLValue]) -> Void, inverse: @escaping (inout State, [SQLValue]) -> Void,
    result: @escaping (State) -> SQLValue
  ) throws {
    let handle = try unsafe opened()
    // Looked up by name, because older engines have this function neither in their headers nor in their
    // library.
    typealias Create =
      @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (OpaquePointer?) -> Void)?, (@convention(c) (OpaquePointer?) -> Void)?,
        (@convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void)?,
        (@convention(c) (UnsafeMutableRawPointer?) -> Void)?
      ) -> Int32
    let symbol = unsafe dlopen(nil, RTLD_NOW).flatMap { unsafe dlsym($0, "sqlite3_create_window_function") }
    guard let symbol = unsafe symbol, Engine.current.hasWindowFunctions else {
      throw SQLError.unsupported(feature: "window functions", engine: "\(Engine.current)")
    }
    // The type is the one that SQLite has documented for this function since 3.25.
    let create = unsafe unsafeBitCast(symbol, to: Create.self)
    let box = unsafe Unmanaged.passRetained(
      Self.boxed(initial: initial, step: step, inverse: inverse, result: result)
    ).toOpaque()
    let code = unsafe create(
      handle, name, Int32(argumentCount), SQLITE_UTF8 | SQLITE_DETERMINISTIC, box, stepCallback,
      finalCallback,
      valueCallback, inverseCallback, destroyCallback)
    guard code == SQLITE_OK else { throw error(code, sql: "") }
  }

  private static func boxed<State>(
    initial: State, step: @escaping (inout State, [SQLValue]) -> Void,
    inverse: @escaping (inout State, [SQLValue]) -> Void, result: @escaping (State) -> SQLValue
  ) -> Aggregate {
    func changed(_ any: inout Any, with values: [SQLValue], by body: (inout State, [SQLValue]) -> Void) {
      guard var state = any as? State else { return }
      body(&state, values)
      any = state
    }
    return Aggregate(
      make: { initial }, step: { changed(&$0, with: $1, by: step) },
      inverse: { changed(&$0, with: $1, by: inverse) },
      result: { ($0 as? State).map(result) ?? .null })
  }
}
