// The plan of a save, made without a store: each delete rule for each kind of relationship, wherever the
// other end is.

import CipherSQLite
import ObjectVault
import Testing

@Suite(.tags(.pure)) struct SavePlans {
  @Test(arguments: PlanKind.allCases, PlanSituation.allCases)
  func `a cascade deletes the object that is related after the save`(
    _ kind: PlanKind, _ situation: PlanSituation
  ) throws {
    let bench = try PlanBench(kind, .cascade, situation)
    let before = bench.memory
    let plan = try bench.plan()
    let id = situation == .new ? -1 : Int64(1)
    #expect(plan.deletion.deletedIDsByEntity == [[1], situation.isRelated ? [id] : []])
    let rows = [[1], situation.isRelated && id > 0 ? [id] : []]
    #expect(plan.deletion.levels.map(\.ids) == rows.filter { !$0.isEmpty })
    #expect(plan.inserted.isEmpty && plan.released.isEmpty && plan.deletion.released.isEmpty)
    #expect(bench.memory == before)
  }

  @Test func `members that are not in memory are left to the engine if there is no listener`() throws {
    let bench = try PlanBench(.toMany, .cascade, .inFile)
    #expect(try bench.plan(recordsEveryRow: false).deletion.deletedIDsByEntity == [[1], []])
    #expect(try bench.plan().deletion.deletedIDsByEntity == [[1], [1]])
    let known = try PlanBench(.toMany, .cascade, .fault)
    #expect(try known.plan(recordsEveryRow: false).deletion.deletedIDsByEntity == [[1], [1]])
  }

  @Test(arguments: PlanKind.allCases, PlanSituation.allCases)
  func `a deny rule refuses a deletion if an object is related after the save`(
    _ kind: PlanKind, _ situation: PlanSituation
  ) throws {
    let bench = try PlanBench(kind, .deny, situation)
    let before = bench.memory
    if situation.isRelated {
      #expect(throws: StoreError.deleteDenied(entity: "A", rowID: 1, property: "b", count: 1)) {
        try bench.plan()
      }
    } else {
      #expect(try bench.plan().deletion.deletedIDsByEntity == [[1], []])
    }
    #expect(bench.memory == before)
  }

  @Test(arguments: PlanKind.allCases, PlanSituation.allCases)
  func `nullify clears references of objects by their update and of rows by a statement`(
    _ kind: PlanKind, _ situation: PlanSituation
  ) throws {
    let bench = try PlanBench(kind, .nullify, situation)
    let before = bench.memory
    let plan = try bench.plan()
    #expect(plan.deletion.deletedIDsByEntity == [[1], []])
    // Only a column at the other end must be cleared.
    let hasColumn = kind == .toMany || kind == .oneToOne
    let isReleased = hasColumn && situation.isKnown
    let member = bench.member.flatMap { plan.overlay(of: $0) }
    #expect(plan.released.keys.map(\.rowID) == (isReleased ? [bench.member?.rowID ?? 0] : []))
    if isReleased, let member, let slot = bench.mapping.entities[1].storedSlots.first {
      #expect(member[slot].isNull && member.changed.contains(slot))
    }
    let rows = hasColumn && situation.isRelated && !situation.isKnown ? [[Int64(1)]] : []
    #expect(plan.deletion.released.map(\.ids) == rows)
    #expect(plan.newlyChanged.map(\.rowID) == (hasColumn && situation == .loaded ? [1] : []))
    #expect(bench.memory == before)
  }

  @Test(arguments: PlanKind.allCases)
  func `links of deleted objects are not written`(_ kind: PlanKind) throws {
    let bench = try PlanBench(kind, .nullify, .new)
    #expect(try bench.plan().links.isEmpty)
  }

  @Test func `another version of a deleted row is a conflict, and a row that is gone is none`() throws {
    let bench = try PlanBench(.toMany, .cascade, .loaded)
    bench.reader.versions = [1: 2]
    #expect(throws: StoreError.self) { try bench.plan() }
    bench.reader.versions = [:]
    #expect(try bench.plan().deletion.deletedIDsByEntity == [[1], [1]])
  }

  @Test func `new objects get ids above the high-water mark`() throws {
    let bench = try PlanBench(.toMany, .nullify, .new)
    let plan = try bench.plan()
    #expect(plan.ids.ranges.map(\.ids.first) == [41] && plan.ids.ranges.map(\.ids.last) == [41])
    #expect(plan.ids.final(-1) == 41 && plan.ids.final(-2) == -2 && plan.ids.final(7) == 7)
    let other = try PlanBench(.toMany, .nullify, .loaded)
    #expect(try other.plan().ids.ranges.isEmpty)
  }
}
