# SPDX-License-Identifier: Apache-2.0
# Every call of Amazon::SQS::Simple that works on one queue; prints a line for each result.
use strict;
use warnings;
use utf8;
use Amazon::SQS::Simple;
binmode STDOUT, ':utf8';

my ($url, $account, $key, $secret) = @ARGV;
my $sqs = Amazon::SQS::Simple->new($key, $secret, Endpoint => $url);
my $made = $sqs->CreateQueue('perl', 'Attribute.1.Name' => 'VisibilityTimeout', 'Attribute.1.Value' => 30);
print "made $made\n";
# The client sends a Host header without the port, which the queue URL in the answer repeats.
my $queue = $sqs->GetQueue("$url/$account/perl");
$queue->SendMessage("one + two & é\n");
my $sent = $queue->SendMessage('two');  # the client digests characters, not bytes
print "sent ", $sent->VerifyReceipt ? 'intact' : 'changed', "\n";
my @batch = $queue->SendMessageBatch(['three', 'four']);
print "batch ", scalar(@batch), "\n";
print "visibility ", $queue->GetAttributes->{VisibilityTimeout}, "\n";
$queue->SetAttribute('VisibilityTimeout', 60);
print "changed ", $queue->GetAttributes->{VisibilityTimeout}, "\n";
my %bodies;
while (my @messages = $queue->ReceiveMessageBatch) {
    $bodies{$_->MessageBody} = 1 for @messages;
    my $first = shift @messages;
    $queue->ChangeMessageVisibility($first->ReceiptHandle, 90);
    $queue->DeleteMessage($first);
    $queue->DeleteMessageBatch(\@messages);
}
print "body $_\n" for sort map { s/\n/\\n/r } keys %bodies;
print "queues ", scalar(@{$sqs->ListQueues}), "\n";
$queue->Purge;
$queue->Delete;
print "left ", defined $sqs->ListQueues ? 'some' : 'none', "\n";
