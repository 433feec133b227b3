//! Owns a journal on redb: one table from revision to record, one transaction per batch. It does the least that a journal
//! must, and never compacts, which favours it.

use std::path::Path;

use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use roost_store::journal::{Batch, Completion, Journal, Record, Replay, Snapshot, SyncWork};
use roost_store::{OpenError, Revision, StorageError};

use crate::record::{decode, encode};

const LOG: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");

pub(crate) struct RedbJournal {
    database: Database,
}

impl RedbJournal {
    pub(crate) fn open(directory: &Path) -> Result<Self, redb::Error> {
        let database = Database::create(directory.join("log.redb"))?;
        let transaction = database.begin_write()?;
        transaction.open_table(LOG)?;
        transaction.commit()?;
        Ok(Self { database })
    }

    fn read(&self, replay: &mut Replay<'_>) -> Result<(), redb::Error> {
        let table = self.database.begin_read()?.open_table(LOG)?;
        for row in table.iter()? {
            let (revision, bytes) = row?;
            let record = decode(bytes.value()).ok_or_else(|| redb::Error::Corrupted("record".into()))?;
            replay
                .record(revision.value(), record, u64::MAX)
                .map_err(|error| redb::Error::Corrupted(error.to_string()))?;
        }
        Ok(())
    }

    fn write(&self, batch: Batch<'_>) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(LOG)?;
            let mut bytes = Vec::new();
            for event in batch.events {
                encode(Record::from(&**event), &mut bytes);
                table.insert(event.revision, &*bytes)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Journal for RedbJournal {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        self.read(replay).map_err(|error| OpenError::Remote(error.to_string()))
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        self.write(batch).map(|()| None).map_err(|error| StorageError::new(error.to_string()))
    }

    fn worth_compacting(&self, _mark: Revision) -> bool {
        false
    }

    fn compact(&mut self, _snapshot: Snapshot, done: Completion) {
        done(Ok(()));
    }

    fn stored_bytes(&self) -> u64 {
        0
    }

    fn close(&mut self) {}
}
